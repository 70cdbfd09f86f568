package cpython_test

import "github.com/soulacy/toolcell/sandbox"

// explained is a difference that the profile means to make.
type explained struct {
	// tests is a regular expression for whole test ids.
	tests string
	// guarantee is what makes the difference, and why how.
	guarantee sandbox.Guarantee
	why       string
}

// differences are all that there may be.
func differences() []explained {
	return []explained{
		{`test\.test_shutil\.TestWhich(Bytes)?\..*`, sandbox.FSNoexecScratch,
			"they look for a program that they put on the scratch, where access(2) with X_OK says no"},
		{`test\.test_subprocess\.POSIXProcessTestCase\.test_(args|call)_string`, sandbox.FSNoexecScratch,
			"they run a script that they wrote to the scratch"},
		{`test\.test_subprocess\.POSIXProcessTestCase\.test_(user|group)`, sandbox.PrivNonroot,
			"they expect EPERM for another id; inside there is one id, and the kernel says EINVAL for all others"},
		{`test\.test_socket\.GeneralModuleTests\.(testInterfaceNameIndex|test_get(addr|name)info_ipv6_scopeid_symbolic)`, sandbox.LimitMemory,
			"they list interfaces through netlink, which is refused: what it queues is charged to no memory cgroup"},
		{`test\.test_os\.ChownFileTests\.test_chown_without_permission`, sandbox.PrivNonroot,
			"it expects EPERM for another owner; inside there is one id, and the kernel says EINVAL for all others"},
		{`test\.test_os\.MakedirTests\.test_exist_ok_s_isgid_directory`, sandbox.PrivNoNewPrivileges,
			"it sets the set-group-ID bit of a directory; no file may get one, and the filter does not see what it is for"},
	}
}
