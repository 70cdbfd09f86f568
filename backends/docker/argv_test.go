package docker

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenContainer is a container with everything that changes a command line.
func goldenContainer(d dialect) container {
	p := sandbox.ContainerProfile{Workdir: "/data", User: "1000:1000"}.WithDefaults()
	p.Binds = []sandbox.Mount{
		{Source: "/srv/work space", Target: "/data", Writable: true, Exec: true},
		{Source: "/srv/a,\"b\":c", Target: "/in"},
		{Source: "/srv/tree", Target: "/tree", Writable: true, Exec: true, Recursive: true},
	}
	return container{
		dialect: d, name: "toolcell-abc-1", image: "python:3.12-slim", profile: p, user: p.User, local: true,
		labels: []string{"toolcell.host=h", "toolcell.owner=b/7/9", "toolcell.instance=abc"},
		helper: "/usr/lib/toolcell/toolcell-init", seccomp: "/tmp/toolcell-files-1/seccomp.json", filter: "{}",
		files:   []sandbox.Mount{{Source: "/tmp/toolcell-files-1/passwd-1000-1000", Target: "/etc/passwd"}},
		volumes: []string{"/var/lib/data"},
	}
}

// onMac and onWindows are the same container with the paths of those hosts.
func onMac(c container) container {
	c.local = false
	c.helper = "/Users/me/toolcell/toolcell-init"
	c.files[0].Source = "/Users/me/Library/Caches/toolcell-files-1/passwd-1000-1000"
	c.seccomp = "/Users/me/Library/Caches/toolcell-files-1/seccomp.json"
	c.profile.Binds = []sandbox.Mount{{Source: "/Users/me/My Project", Target: "/data", Writable: true, Exec: true}}
	return c
}

func onWindows(c container) container {
	c.local = false
	c.helper = `C:\Program Files\toolcell\toolcell-init`
	c.files[0].Source = `C:\Users\me\AppData\Local\toolcell-files-1\passwd-65532-65532`
	c.seccomp = `C:\Users\me\AppData\Local\toolcell-files-1\seccomp.json`
	c.profile.Binds = []sandbox.Mount{{Source: `C:\Users\me\My, Project`, Target: "/data", Writable: true, Exec: true}}
	c.profile.User, c.user = "65532:65532", "65532:65532"
	return c
}

func TestCreateArgs(t *testing.T) {
	rootless := goldenContainer(dialectPodman)
	rootless.rootless = true
	session := goldenContainer(dialectDocker)
	session.session = true
	runsc := goldenContainer(dialectDocker)
	runsc.profile.Runtime, runsc.profile.ScratchExec, runsc.profile.Limits.OpenFiles = "runsc", true, 20
	for name, c := range map[string]container{
		"docker": goldenContainer(dialectDocker), "podman": goldenContainer(dialectPodman), "podman-rootless": rootless,
		"nerdctl": goldenContainer(dialectNerdctl), "docker-session": session, "docker-runsc": runsc,
		"docker-macos": onMac(goldenContainer(dialectDocker)), "docker-windows": onWindows(goldenContainer(dialectDocker)),
		"podman-macos": onMac(goldenContainer(dialectPodman)), "podman-windows": onWindows(goldenContainer(dialectPodman)),
		"nerdctl-macos": onMac(goldenContainer(dialectNerdctl)),
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(c.createArgs(), "\n") + "\n"
			file := filepath.Join("testdata", name+".argv")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// A command line holds no value of the environment and nothing of the call: they go to init's input.
func TestCreateArgsHoldNothingOfTheCall(t *testing.T) {
	c := goldenContainer(dialectDocker)
	c.profile.Env = []string{"TOKEN=of-the-profile"}
	for _, a := range c.createArgs() {
		assert.NotContains(t, a, "of-the-profile")
		assert.NotContains(t, a, "TOKEN")
	}
}

// The same value makes the same command line.
func TestCreateArgsArePure(t *testing.T) {
	c := goldenContainer(dialectPodman)
	assert.Equal(t, c.createArgs(), c.createArgs())
}

func TestUsers(t *testing.T) {
	for _, tc := range []struct {
		caller   caller
		uid, gid uint32
	}{
		{caller{0, 0}, insideID, insideID}, {caller{-1, -1}, insideID, insideID}, {caller{1000, 1001}, 1000, 1001},
		{caller{1000, 0}, 1000, insideID}, {caller{0, 1000}, insideID, insideID},
	} {
		uid, gid := tc.caller.ids()
		assert.Equal(t, []uint32{tc.uid, tc.gid}, []uint32{uid, gid}, "%+v", tc.caller)
	}
	for _, bad := range []string{"root", "0:0", "1000", "abc", "-1:0", "1000:1000 --privileged", "1000:0"} {
		assert.ErrorIs(t, checkConfigUser(bad), sandbox.ErrInvalid, bad)
	}
	for _, good := range []string{"", "auto", "image", "1000:1001"} {
		assert.NoError(t, checkConfigUser(good), good)
	}
}

func TestImageUsers(t *testing.T) {
	waiver := []sandbox.Waiver{{Guarantee: sandbox.PrivNonroot}}
	for name, root := range map[string]bool{"": true, "root": true, "0": true, "00:1": true, "root:root": true, "1000:0": true, "app": false, "1000": false, "1000:1000": false} {
		img := &image{}
		img.Config.User = name
		_, err := (&Backend{config: Config{User: UserImage}}).user(sandbox.ContainerProfile{}, img)
		u, waived := (&Backend{config: Config{User: UserImage, Waivers: waiver}}).user(sandbox.ContainerProfile{}, img)
		require.NoError(t, waived)
		assert.Empty(t, u.flag())
		assert.True(t, u.root)
		if root {
			assert.ErrorIs(t, err, sandbox.ErrRefused, "%q", name)
		} else {
			assert.NoError(t, err, "%q", name)
		}
	}
}
