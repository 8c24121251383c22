package pid1

import "syscall"

// setgroupsAllThreads empties the group list of every thread of this process;
// credentials belong to threads, and syscall.Setgroups walks them all.
func setgroupsAllThreads() error { return syscall.Setgroups(nil) }
