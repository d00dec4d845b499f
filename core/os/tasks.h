/* The threads of this process. */
#ifndef ST_OS_TASKS_H
#define ST_OS_TASKS_H

/* How many there are; 0 if the system does not say. */
int st__count_tasks(void);

#endif
