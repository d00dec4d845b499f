--- The operators that the vectors ask for and strided does not have, with the
-- number of cases of each: a new hole is seen, and so is one that is gone.

return {
}
