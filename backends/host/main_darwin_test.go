package host

// The tests that leave a process of another user need Linux.
const becomesRoot = "test-becomes-root"

func becomeRoot() {}
