local changes = {}
function changes.of_call() end
return changes
