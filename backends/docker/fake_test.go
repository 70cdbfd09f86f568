package docker

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
)

// fakeEngine is a Client that keeps a record and answers from what it is told to. It runs nothing: its init is a script.
type fakeEngine struct {
	mu    sync.Mutex
	calls [][]string
	// info is the answer to `info`; lie changes what inspect says; init plays a container's streams.
	info string
	lie  func(map[string]any)
	init func(i Invocation) int
	// exec plays the streams of a session's call.
	exec func(i Invocation) int
	// fail makes a command end with this status and word.
	fail map[string]string
	// hang makes a command wait for its context.
	hang map[string]bool
	// image is the answer to `image inspect`.
	image string
	made  map[string]any
	// onPull happens when an image is fetched.
	onPull func()
	// ps and orphans are the answers to ps, and to inspect before anything was made.
	ps, orphans string
	// dial plays `system dial-stdio`; nil ends it at once.
	dial func(context.Context, Invocation)
}

const dockerInfo = `{"ID":"X","Name":"elsewhere","ServerVersion":"1","OSType":"linux","Runtimes":{"runc":{},"runsc":{}},"DefaultRuntime":"runc",
"SecurityOptions":["name=seccomp,profile=default"],"MemoryLimit":true,"SwapLimit":true,"CpuCfsQuota":true,"PidsLimit":true,"ClientInfo":{}}`

func newFake() *fakeEngine {
	return &fakeEngine{info: dockerInfo, image: `[{"Id":"sha256:1","Config":{"Env":["PATH=/image/bin","IMG=1"]}}]`, init: exitsWith(0)}
}

func (f *fakeEngine) Run(ctx context.Context, i Invocation) (int, error) {
	f.mu.Lock()
	f.calls = append(f.calls, slices.Clone(i.Args))
	word, failing := f.fail[i.Args[0]]
	hanging := f.hang[i.Args[0]]
	f.mu.Unlock()
	if hanging {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	if failing && len(i.Args) == 2 && i.Args[1] == "--help" {
		return f.say(i.Stdout, "Options:\n      --rm    Remove\n  -i, --interactive\n      --memory bytes", 0)
	}
	if failing {
		return f.say(i.Stderr, word, 1)
	}
	switch strings.Join(i.Args[:min(2, len(i.Args))], " ") {
	case "info --format":
		return f.say(i.Stdout, f.info, 0)
	case "image inspect":
		return f.say(i.Stdout, f.image, 0)
	case "container inspect":
		return f.inspect(i)
	case "start -a":
		return f.init(i), nil
	case "exec -i":
		return f.exec(i), nil
	case "system dial-stdio":
		if f.dial != nil {
			f.dial(ctx, i)
		}
		return 0, nil
	}
	if i.Args[0] == "pull" {
		f.onPull()
		return f.say(i.Stdout, "layer 1: done\n", 0)
	}
	if i.Args[0] == "ps" {
		return f.say(i.Stdout, f.ps, 0)
	}
	if i.Args[0] == "create" {
		f.create(i.Args)
	}
	return 0, nil
}

func (f *fakeEngine) say(w interface{ Write([]byte) (int, error) }, text string, status int) (int, error) {
	if w == nil {
		return status, nil
	}
	_, err := w.Write([]byte(text))
	return status, err
}

// create remembers the container as an engine shows it.
func (f *fakeEngine) create(args []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made = shown(args)
}

func (f *fakeEngine) inspect(i Invocation) (int, error) {
	f.mu.Lock()
	m := f.made
	if m == nil {
		f.mu.Unlock()
		return f.say(i.Stdout, f.orphans, 0)
	}
	if f.lie != nil {
		f.lie(m)
	}
	data, err := json.Marshal([]any{m})
	f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return f.say(i.Stdout, string(data), 0)
}

// described is the container as one answer.
func (f *fakeEngine) described() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := json.Marshal(f.made)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func itoa(n int) string { return strconv.Itoa(n) }

// set makes commands fail from here on.
func (f *fakeEngine) set(fail map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// verbs are the engine's commands so far.
func (f *fakeEngine) verbs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, c := range f.calls {
		out = append(out, c[0])
	}
	return out
}

// shown turns the arguments of create into docker's form of inspect.
func shown(args []string) map[string]any {
	h := map[string]any{"CapDrop": []string{}, "SecurityOpt": []string{}, "Tmpfs": map[string]any{}, "Ulimits": []any{}, "LogConfig": map[string]any{},
		"MaskedPaths": []string{"/proc/kcore", "/proc/keys"}, "ReadonlyPaths": []string{"/proc/sys"}}
	labels := map[string]any{}
	config := map[string]any{"Labels": labels, "Hostname": "", "Entrypoint": []string{}, "Cmd": args[len(args)-1:], "Tty": false}
	mounts := []any{}
	m := map[string]any{"Image": "sha256:1", "Config": config, "HostConfig": h, "State": map[string]any{"Status": "created"}}
	for i := 1; i < len(args)-2; i++ {
		name, value, inline := strings.Cut(args[i], "=")
		switch name {
		case "--rm":
			h["AutoRemove"] = true
			continue
		case "-i":
			config["OpenStdin"] = true
			continue
		case "--read-only":
			h["ReadonlyRootfs"] = true
			continue
		case "--no-healthcheck":
			continue
		}
		if !inline {
			i++
			value = args[i]
		}
		key, rest, _ := strings.Cut(value, "=")
		switch name {
		case "--name":
			m["Name"] = "/" + value
		case "--label":
			labels[key] = rest
		case "--network":
			h["NetworkMode"] = value
		case "--user":
			config["User"] = value
		case "--cap-drop":
			h["CapDrop"] = []string{value}
		case "--security-opt":
			if key == "seccomp" {
				text, _ := os.ReadFile(rest)
				value = "seccomp=" + string(text)
			}
			h["SecurityOpt"] = append(h["SecurityOpt"].([]string), value)
		case "--pids-limit":
			h["PidsLimit"] = json.Number(value)
		case "--memory":
			h["Memory"] = megabytes(value)
		case "--memory-swap":
			h["MemorySwap"] = megabytes(value)
		case "--shm-size":
			h["ShmSize"] = megabytes(value)
		case "--cpus":
			h["NanoCpus"] = json.Number(value + "000000000")
		case "--ulimit":
			soft, hard, _ := strings.Cut(rest, ":")
			h["Ulimits"] = append(h["Ulimits"].([]any), map[string]any{"Name": key, "Soft": json.Number(soft), "Hard": json.Number(hard)})
		case "--tmpfs":
			target, options, _ := strings.Cut(value, ":")
			h["Tmpfs"].(map[string]any)[target] = options
		case "--ipc":
			h["IpcMode"] = value
		case "--cgroupns":
			h["CgroupnsMode"] = value
		case "--log-driver":
			h["LogConfig"] = map[string]any{"Type": value}
		case "--hostname":
			config["Hostname"] = value
		case "--entrypoint":
			config["Entrypoint"] = []string{value}
		case "--runtime":
			h["Runtime"] = value
		case "--mount":
			mounts = append(mounts, shownMount(value))
		}
	}
	m["Mounts"] = mounts
	return m
}

func shownMount(value string) map[string]any {
	out := map[string]any{"Type": "bind", "RW": true, "Propagation": "rprivate"}
	for f := range strings.SplitSeq(value, ",") {
		switch k, v, _ := strings.Cut(f, "="); k {
		case "source":
			out["Source"] = v
		case "target":
			out["Destination"] = v
		case "readonly":
			out["RW"] = false
		}
	}
	return out
}

func megabytes(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(s, "m"), 10, 64)
	return n << 20
}

// exitsWith is an init whose program says what it was given and ends.
func exitsWith(code uint32) func(Invocation) int {
	return speaks(func(call *frame.Call, say func(frame.Type, []byte)) *frame.Ending {
		say(frame.Stdout, []byte(string(call.Argv[0])+"\n"))
		return &frame.Ending{Exited: true, Status: code << 8}
	})
}

// waits is a session's first process, which ends with its input.
func waits(i Invocation) int {
	_, _ = i.Stdout.Write(frame.Append(nil, frame.Started, nil))
	_, _ = io.Copy(io.Discard, i.Stdin)
	return 0
}

// speaks is an init that reads its call and plays it.
func speaks(play func(*frame.Call, func(frame.Type, []byte)) *frame.Ending) func(Invocation) int {
	return func(i Invocation) int {
		var call frame.Call
		_, data, err := frame.Read(i.Stdin, nil)
		if err != nil || frame.Decode(data, &call) != nil {
			return 2
		}
		say := func(t frame.Type, data []byte) { _, _ = i.Stdout.Write(frame.Append(nil, t, data)) }
		say(frame.Started, nil)
		end := play(&call, say)
		if end == nil {
			return 137
		}
		out, err := frame.Encode(frame.Result, end)
		if err != nil {
			return 2
		}
		_, _ = i.Stdout.Write(out)
		return 0
	}
}

// openFake opens a backend on a fake engine. The helper is this program, which TestMain makes one.
func openFake(t *testing.T, f *fakeEngine, change ...func(*Config)) *Backend {
	t.Helper()
	c := Config{Client: f, Image: "image", Helper: helperProgram(t), StateDir: t.TempDir()}
	for _, do := range change {
		do(&c)
	}
	b, err := Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func helperProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

// zeros is an endless input.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
