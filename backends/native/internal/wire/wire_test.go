package wire

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if os.Getenv("TOOLCELL_TEST_WIRE_BUILD") != "" {
		build := Build()
		_, _ = os.Stdout.Write(build[:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A message travels as its struct, so it may hold nothing but numbers, and no padding, whose bytes could be anything of
// the sender's memory.
func TestMessagesAreFlat(t *testing.T) {
	for _, m := range []any{Hello{}, Request{}, Reply{}} {
		typ := reflect.TypeOf(m)
		var end uintptr
		for i := range typ.NumField() {
			f := typ.Field(i)
			assert.Equal(t, end, f.Offset, "%s: padding before %s", typ.Name(), f.Name)
			end = f.Offset + f.Type.Size()
			kind := f.Type.Kind()
			if kind == reflect.Array {
				kind = f.Type.Elem().Kind()
			}
			assert.Contains(t, []reflect.Kind{reflect.Bool, reflect.Uint8, reflect.Uint32, reflect.Int64, reflect.Uint64}, kind, "%s.%s", typ.Name(), f.Name)
		}
		assert.Equal(t, typ.Size(), end, "%s: padding at the end", typ.Name())
	}
}

// A message is known by its size where two kinds go the same way, and the greeting is never taken for a request.
func TestSizesDiffer(t *testing.T) {
	assert.NotEqual(t, unsafe.Sizeof(Hello{}), unsafe.Sizeof(Request{}))
	assert.LessOrEqual(t, unsafe.Sizeof(Request{}), uintptr(512), "the spawner's buffer")
}

func TestRoundTrip(t *testing.T) {
	in := Request{Kind: RequestRun, Flags: FlagCPUFile, ID: 1 << 63, OutsideGID: 7, Namespaces: 9, Timeout: -1, CPU: 5}
	var out Request
	require.NoError(t, Parse(&out, bytes.Clone(Bytes(&in))))
	assert.Equal(t, in, out)

	reply := Reply{Kind: ReplyDone, Cause: CauseOOM, ID: 3, Started: true, Faulted: true, Step: ^uint32(0), System: 1 << 40}
	var got Reply
	require.NoError(t, Parse(&got, bytes.Clone(Bytes(&reply))))
	assert.Equal(t, reply, got)
}

func TestParseRefusesOtherSizes(t *testing.T) {
	for _, n := range []int{0, 1, int(unsafe.Sizeof(Reply{})) - 1, int(unsafe.Sizeof(Reply{})) + 1, 4096} {
		r := Reply{ID: 5}
		require.Error(t, Parse(&r, make([]byte, n)), "%d bytes", n)
		assert.Equal(t, Reply{ID: 5}, r, "what was not parsed is not changed")
	}
	var h Hello
	require.Error(t, Parse(&h, make([]byte, unsafe.Sizeof(h)-1)))
	var q Request
	require.Error(t, Parse(&q, make([]byte, unsafe.Sizeof(q)+1)))
}

func TestHello(t *testing.T) {
	mine := [32]byte{1, 2, 3}
	h := NewHello(mine)
	assert.True(t, h.Is())
	require.NoError(t, h.Check(mine))
	require.ErrorContains(t, h.Check([32]byte{1, 2, 4}), "different builds")
	old := h
	old.version++
	assert.True(t, old.Is(), "a greeting of another version is one")
	require.ErrorContains(t, old.Check(mine), "different builds")
	other := h
	other.magic[15] ^= 1
	assert.False(t, other.Is())
	assert.False(t, new(Hello).Is())
}

// The id of a build is the same in every process of it.
func TestBuildIsStable(t *testing.T) {
	assert.Equal(t, Build(), Build())
	assert.NotEqual(t, [32]byte{}, Build())
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "TOOLCELL_TEST_WIRE_BUILD=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	build := Build()
	assert.Equal(t, build[:], out)
}

// The same sources are one build, whichever of the go command's ways has built them: go build records the commit that it
// finds, and go test, which has built this program, does not.
func TestBuildOfTheSameSources(t *testing.T) {
	program := filepath.Join(t.TempDir(), "build")
	out, err := exec.Command("go", "build", "-buildvcs=auto", "-o", program, "./testdata/build").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).Output()
	require.NoError(t, err)
	build := Build()
	assert.Equal(t, build[:], out)
}

func TestStepNames(t *testing.T) {
	seen := map[string]bool{}
	for s := uint32(StepHello); s <= StepSpare; s++ {
		assert.NotEqual(t, "unknown step", StepName(s), "step %d", s)
		assert.False(t, seen[StepName(s)], "step %d", s)
		seen[StepName(s)] = true
	}
	assert.Equal(t, "unknown step", StepName(0))
	assert.Equal(t, "unknown step", StepName(StepSpare+1))
}

// FuzzParse: what has the right size is a message, and travels on unchanged; nothing else is one.
func FuzzParse(f *testing.F) {
	h, q, r := NewHello([32]byte{9}), Request{Kind: RequestKill}, Reply{Kind: ReplyReady}
	f.Add([]byte{})
	f.Add(bytes.Clone(Bytes(&h)))
	f.Add(bytes.Clone(Bytes(&q)))
	f.Add(bytes.Clone(Bytes(&r)))
	f.Add(bytes.Repeat([]byte{0xff}, int(unsafe.Sizeof(Reply{}))))
	f.Fuzz(func(t *testing.T, data []byte) {
		parse[Hello](t, data)
		parse[Request](t, data)
		parse[Reply](t, data)
	})
}

func parse[M Message](t *testing.T, data []byte) {
	var m M
	err := Parse(&m, data)
	want := len(data) == int(unsafe.Sizeof(m))
	if _, ok := any(m).(Reply); ok && want {
		for _, off := range replyBools {
			want = want && data[off] <= 1
		}
	}
	require.Equal(t, want, err == nil)
	if err == nil {
		require.Equal(t, data, Bytes(&m))
	}
}
