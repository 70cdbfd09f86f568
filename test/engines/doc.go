// Package engines starts real container engines for tests, gives each the same images, and stops them again.
//
// [Docker] is a dockerd with a data root, exec root, socket and cgroup of its own, and the containerd that it starts;
// [Podman] is podman with a storage of its own; [Nerdctl] is built from its Go module and uses the containerd of Docker.
// No registry is asked: an image is written by this package, from a static busybox or from the host's Debian packages, cached,
// as an archive that the load command of every engine reads. All runs are meant to be without a network, so that
// neither a bridge nor iptables nor CNI is needed. What a killed test binary left is removed by the next one.
//
// The tests that use it are switched on by SOULACY_DOCKER_TESTS=1, in a short form, in which podman and nerdctl run what
// depends on an engine's command line alone; TOOLCELL_TEST_LONG=1 makes it the whole (make test-engines). An engine that the
// machine lacks then skips its tests, and fails them when TOOLCELL_TEST_REQUIRE=1. It needs root, and protects nothing: it is for tests alone.
//
// # What the engines do
//
// Measured with docker 20.10 (client 28.2), podman 4.3.1, nerdctl 2.1.2, runc 1.1.5 and runsc 20221219 on a host whose
// controllers are on cgroup v1. The tests of this package hold what the docker backend relies on.
//
// Starting. Without an init, a program that is missing or not executable fails the start: docker exits 1 and inspect has
// ExitCode 127 or 126 and an Error; podman exits 125 and inspect has neither; nerdctl exits 1 and inspect has ExitCode 0 and
// an Error. With --init the container starts: docker's tini exits 127 or 126, podman's catatonit 1. Podman's --init needs
// catatonit. A working directory that the image lacks is made by docker and nerdctl, also under --read-only, and refused by
// podman. Podman asks for the highest limits on files and processes that it knows, so a caller without CAP_SYS_RESOURCE has
// to give it --ulimit nofile and nproc, or every start is "operation not permitted"; crun refuses hybrid cgroups.
//
// Ending. The client's exit code is the program's for docker and podman; nerdctl start exits 1 for every code but 0, so
// only its inspect tells. A client ended by SIGKILL leaves the container running, on every engine. rm --force kills at once,
// but podman first waits its stop timeout, unless --time 0 is given.
//
// Memory. On cgroup v1 a kill for memory takes one process, not the tree. docker's inspect has OOMKilled, also when the
// program survived; podman's is always false there; nerdctl's has no such field. Under runsc the whole sandbox dies, with
// OOMKilled and exit code 137. docker and nerdctl allow as much swap again unless --memory-swap equals --memory.
//
// Processes. --pids-limit binds on all. Under runsc it also counts the sentry's threads: a limit below 64 may fail the
// creation, or hang it, and then rm --force hangs as well.
//
// Standard input. create -i and start -a -i forward it on docker and podman; nerdctl's start does not, and never returns:
// only its run -i forwards. nerdctl's client also logs to the program's standard error.
//
// Seccomp. --security-opt seccomp=FILE is read by the client and holds on docker, podman and nerdctl. runsc ignores it, as it
// does --ulimit cpu; its /proc/self/status has no NoNewPrivs line and says Seccomp 0. docker's inspect shows the profile's text,
// podman's its path.
//
// Defaults. podman's --read-only leaves /run and /var/tmp writable and executable (--read-only-tmpfs=false), forwards the
// caller's proxy variables, whose values may hold passwords (--http-proxy=false), and shares its IPC namespace
// (--ipc private). A VOLUME of the image becomes a writable anonymous volume. -e NAME takes the value from the client's
// environment; a NAME that is unset there is unset inside. On cgroup v1 an engine's containers see their cgroup's path.
//
// Inspecting. nerdctl's docker-like form lacks capabilities, security options, network and process limits; inspect --mode
// native has the whole OCI configuration. docker and podman list tmpfs options, limits and modes in HostConfig in different
// words.
//
// In view. /dev/mqueue can be written by everybody unless something lies on it. /sys and, in these versions, /proc/interrupts
// can be read. docker and podman give a container without a network no ::1. A mount's source is resolved again by the engine,
// after whoever asked for it has looked. podman has no daemon, so its containers inherit the caller's soft limits.
//
// As an ordinary user podman needs subordinate ids, and on cgroup v1 it ignores every limit with a warning and goes on.
package engines
