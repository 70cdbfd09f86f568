// Package engines starts real container engines for tests, gives each the same images, and stops them again.
//
// [Docker] is a dockerd with a data root, exec root, socket and cgroup of its own, and the containerd that it starts;
// [Podman] is podman with a storage of its own; [Nerdctl] is built from its Go module and uses the containerd of Docker.
// No registry is asked: an image is written by this package, from a static busybox or from a Debian made by
// debootstrap and cached, as an archive that the load command of every engine reads. All runs are meant to be without a network, so that
// neither a bridge nor iptables nor CNI is needed.
//
// The tests that use it are switched on by SOULACY_DOCKER_TESTS=1. An engine that the machine lacks then skips its tests, and
// fails them when TOOLCELL_TEST_REQUIRE=1. It needs root, and protects nothing: it is for tests alone.
package engines
