package sandbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/soulacy/toolcell/sandbox"
)

// hardened is what every command line begins with when nothing is set.
const hardened = "run|--rm|-i|--network|none|--read-only|--cap-drop|ALL|--security-opt|no-new-privileges" +
	"|--pids-limit|128|--tmpfs|/tmp:rw,noexec,nosuid,size=64m"

func TestRunArgs(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    sandbox.ContainerProfile
		argv []string
		want string
	}{
		{"zero profile", sandbox.ContainerProfile{}, nil, hardened + "|IMG"},
		{
			"a gateway's privileged tool",
			sandbox.ContainerProfile{
				Network: "none", PIDs: 128, TmpfsMB: 64, Workdir: "/workspace/sub",
				Limits: sandbox.Limits{MemoryMB: 512, CPUs: 1, OpenFiles: 256, FileSizeMB: 64},
				Mounts: []string{"/srv/ws:/workspace:rw"},
				Env:    []string{"A=1", "B=two words"},
			},
			[]string{"python3", "-c", "print(1)"},
			hardened + "|-v|/srv/ws:/workspace:rw|-w|/workspace/sub|--memory|512m|--cpus|1" +
				"|--ulimit|nofile=256:256|--ulimit|fsize=67108864:67108864|-e|A=1|-e|B=two words|IMG|python3|-c|print(1)",
		},
		{
			"everything else",
			sandbox.ContainerProfile{
				Network: "egress", User: "1000:1001", PIDs: 7, TmpfsMB: 5, ShmMB: 6, ScratchExec: true, Runtime: "runsc",
				Limits: sandbox.Limits{CPUs: 0.25, CPUSeconds: 9},
			},
			[]string{"-not-a-flag"},
			"run|--rm|-i|--network|egress|--read-only|--user|1000:1001|--cap-drop|ALL|--security-opt|no-new-privileges" +
				"|--pids-limit|7|--tmpfs|/tmp:rw,exec,nosuid,size=5m|--cpus|0.25|--ulimit|cpu=9:9|--shm-size|6m" +
				"|--runtime|runsc|IMG|-not-a-flag",
		},
		{
			"an unresolved user stays one that no engine knows",
			sandbox.ContainerProfile{User: sandbox.UserAuto}, nil,
			strings.Replace(hardened, "--read-only", "--read-only|--user|auto", 1) + "|IMG",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, strings.Join(tc.p.RunArgs("IMG", tc.argv...), "|"))
		})
	}
}

func TestRunArgsMounts(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    sandbox.Mount
		want string
	}{
		{"read-only", sandbox.Mount{Source: "/a", Target: "/b"}, "type=bind,source=/a,target=/b,readonly"},
		{"writable", sandbox.Mount{Source: "/a", Target: "/b", Writable: true}, "type=bind,source=/a,target=/b"},
		{
			"recursive", sandbox.Mount{Source: "/a", Target: "/b", Recursive: true},
			"type=bind,source=/a,target=/b,readonly,bind-recursive=readonly,bind-propagation=rprivate",
		},
		{
			"recursive and writable", sandbox.Mount{Source: "/a", Target: "/b", Recursive: true, Writable: true},
			"type=bind,source=/a,target=/b,bind-recursive=enabled",
		},
		{
			"comma, quote, colon, newline", sandbox.Mount{Source: "/a,\"x\":\ny", Target: "/b"},
			"type=bind,\"source=/a,\"\"x\"\":\ny\",target=/b,readonly",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			argv := sandbox.ContainerProfile{Binds: []sandbox.Mount{tc.m}}.RunArgs("IMG")
			assert.Equal(t, hardened+"|--mount|"+tc.want+"|IMG", strings.Join(argv, "|"))
		})
	}
}

// A profile with defaults spelled out asks for every limit by a flag.
func TestRunArgsOfDefaults(t *testing.T) {
	line := strings.Join(sandbox.ContainerProfile{}.WithDefaults().RunArgs("IMG"), " ")
	for _, want := range []string{
		"--memory 512m", "--cpus 1 ", "--ulimit nofile=256:256", "--ulimit fsize=67108864:67108864",
		"--ulimit cpu=30:30", "--shm-size 64m", "-w /tmp",
	} {
		assert.Contains(t, line, want)
	}
}
