package armory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// box is a sandbox that is nothing but alive.
type box struct{ dead, closed atomic.Bool }

func (b *box) Alive() bool { return !b.dead.Load() }
func (b *box) Close()      { b.closed.Store(true) }

// factory builds boxes, and remembers them.
type factory struct {
	mu    sync.Mutex
	built []*box
	err   error
}

func (f *factory) build(context.Context) (*box, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	b := &box{}
	f.built = append(f.built, b)
	return b, nil
}

// open is how many have not been closed.
func (f *factory) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, b := range f.built {
		if !b.closed.Load() {
			n++
		}
	}
	return n
}

func (f *factory) order(n int) Order[*box] { return Order[*box]{Count: n, Build: f.build} }

func rules() Rules {
	return Rules{
		Most: 4, Idle: time.Minute, Life: time.Minute, Look: time.Millisecond, Pause: time.Millisecond, Patience: time.Minute,
		Retry: time.Millisecond, Failed: func(error) {},
	}
}

func newArmory(t *testing.T, change func(*Rules)) *Armory[*box] {
	r := rules()
	change(&r)
	a := New[*box](r)
	t.Cleanup(a.Close)
	return a
}

func same(*Rules) {}

func every(*box) bool { return true }

func (a *Armory[S]) eventually(t *testing.T, want Stats) {
	t.Helper()
	require.Eventually(t, func() bool { return a.Stats() == want }, 20*time.Second, time.Millisecond)
}

func TestTakenAndReplaced(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	_, ok := a.Take("k", every)
	require.False(t, ok)
	require.NoError(t, a.Order(t.Context(), "k", f.order(2)))
	require.Equal(t, Stats{Ready: 2}, a.Stats())
	oldest := f.built[0]
	b, ok := a.Take("k", every)
	require.True(t, ok)
	assert.Same(t, oldest, b)
	a.eventually(t, Stats{Ready: 2, Served: 1})
	_, ok = a.Take("other", every)
	assert.False(t, ok)
	assert.Equal(t, Stats{Ready: 2, Served: 1}, a.Stats(), "nobody ordered any for that")
	a.Cancel(t.Context(), "k")
	assert.Equal(t, 1, f.open(), "the one that a call has")
	a.Close()
	assert.False(t, b.closed.Load())
	require.ErrorIs(t, a.Order(t.Context(), "k", f.order(1)), sandbox.ErrUnavailable)
}

// What has died or does not fit is given up, and what comes after it is taken.
func TestWhatDoesNotFit(t *testing.T) {
	a, f := newArmory(t, func(r *Rules) { r.Look = time.Minute }), &factory{}
	require.NoError(t, a.Order(t.Context(), "k", f.order(3)))
	first, second, third := f.built[0], f.built[1], f.built[2]
	first.dead.Store(true)
	b, ok := a.Take("k", func(b *box) bool { return b != second })
	require.True(t, ok)
	assert.Same(t, third, b)
	a.eventually(t, Stats{Ready: 3, Served: 1})
	assert.True(t, first.closed.Load() && second.closed.Load())
}

func TestDeadAreReplacedWithoutACall(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	require.NoError(t, a.Order(t.Context(), "k", f.order(2)))
	first := f.built[0]
	first.dead.Store(true)
	require.Eventually(t, func() bool { return first.closed.Load() && f.open() == 2 }, 20*time.Second, time.Millisecond)
}

func TestOnce(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	o := f.order(2)
	o.Once = true
	require.NoError(t, a.Order(t.Context(), "k", o))
	for range 2 {
		_, ok := a.Take("k", every)
		require.True(t, ok)
	}
	_, ok := a.Take("k", every)
	assert.False(t, ok)
	assert.Empty(t, a.racks, "the order is over")
	assert.Len(t, f.built, 2)
}

// Nobody waits for calls that do not come; the next one has them built again, unless they were for once.
func TestIdle(t *testing.T) {
	a, f := newArmory(t, func(r *Rules) { r.Idle = 50 * time.Millisecond }), &factory{}
	require.NoError(t, a.Order(t.Context(), "k", f.order(2)))
	a.eventually(t, Stats{})
	require.Eventually(t, func() bool { return f.open() == 0 }, 20*time.Second, time.Millisecond)
	_, ok := a.Take("k", every)
	assert.False(t, ok)
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.built) == 4 }, 20*time.Second, time.Millisecond)
	a.eventually(t, Stats{Missed: 1})
	once := f.order(1)
	once.Once = true
	require.NoError(t, a.Order(t.Context(), "once", once))
	require.Eventually(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.find("once") == nil }, 20*time.Second, time.Millisecond)
}

func TestOldOnesAreReplaced(t *testing.T) {
	a, f := newArmory(t, func(r *Rules) { r.Life = 20 * time.Millisecond }), &factory{}
	require.NoError(t, a.Order(t.Context(), "k", f.order(1)))
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.built) > 2 }, 20*time.Second, time.Millisecond)
}

func TestErrors(t *testing.T) {
	var failed atomic.Int64
	a, f := newArmory(t, func(r *Rules) { r.Failed = func(error) { failed.Add(1) } }), &factory{err: errors.New("no")}
	require.ErrorIs(t, a.Order(t.Context(), "k", f.order(1)), f.err)
	assert.Empty(t, a.racks, "nothing is ordered after an error")
	assert.Zero(t, failed.Load())
	f.err = nil
	require.NoError(t, a.Order(t.Context(), "k", f.order(3)))
	require.ErrorIs(t, a.Order(t.Context(), "more", f.order(2)), sandbox.ErrUnavailable)
	a.eventually(t, Stats{Ready: 3})
	require.NoError(t, a.Order(t.Context(), "k", f.order(1)), "fewer")
	assert.Equal(t, 1, a.Stats().Ready)

	f.mu.Lock()
	f.err = errors.New("no more")
	f.mu.Unlock()
	_, ok := a.Take("k", every)
	require.True(t, ok)
	require.Eventually(t, func() bool { return failed.Load() > 0 }, 20*time.Second, time.Millisecond)
	f.mu.Lock()
	f.err = nil
	f.mu.Unlock()
	require.Eventually(t, func() bool { _, ok := a.Take("k", every); return ok }, 20*time.Second, time.Millisecond, "calls have it tried again")

	ctx, cancel := context.WithCancel(t.Context())
	slow := Order[*box]{Count: 1, Build: func(ctx context.Context) (*box, error) { cancel(); <-ctx.Done(); return nil, ctx.Err() }}
	require.ErrorIs(t, a.Order(ctx, "slow", slow), context.Canceled)
}

// What is given up while it is being built is nobody's.
func TestGivenUpMeanwhile(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	o := Order[*box]{Count: 1, Build: func(ctx context.Context) (*box, error) {
		go a.Cancel(ctx, "k")
		for !a.Empty() {
			time.Sleep(time.Millisecond)
		}
		return f.build(ctx)
	}}
	require.ErrorIs(t, a.Order(t.Context(), "k", o), sandbox.ErrUnavailable)
	assert.Zero(t, f.open())
}

// Many keys do not make many orders.
func TestMaxKeys(t *testing.T) {
	a, f := newArmory(t, func(r *Rules) { r.Most = 1000 }), &factory{}
	for i := range maxKeys + 3 {
		require.NoError(t, a.Order(t.Context(), string(rune('A'+i)), f.order(1)))
	}
	assert.Len(t, a.racks, maxKeys)
	require.Eventually(t, func() bool { return f.open() == maxKeys }, 20*time.Second, time.Millisecond)
}

func TestManyAtOnce(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	require.NoError(t, a.Order(t.Context(), "k", f.order(4)))
	var served atomic.Int64
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 200 {
				if b, ok := a.Take("k", every); ok {
					served.Add(1)
					assert.False(t, b.closed.Swap(true), "each is one call's")
				}
			}
		})
	}
	calls.Wait()
	a.Close()
	assert.Zero(t, f.open())
	s := a.Stats()
	assert.Equal(t, int(served.Load()), s.Served)
	assert.Equal(t, 1600, s.Served+s.Missed)
}

// What is given up is gone when Cancel returns, also what was being built.
func TestCancelWaitsForWhatIsBuilt(t *testing.T) {
	a, f := newArmory(t, same), &factory{}
	begun, goOn := make(chan struct{}), make(chan struct{})
	o := Order[*box]{Count: 1, Build: func(ctx context.Context) (*box, error) {
		close(begun)
		<-goOn
		return f.build(ctx)
	}}
	ordered := make(chan error)
	go func() { ordered <- a.Order(t.Context(), "k", o) }()
	<-begun
	canceled := make(chan int)
	go func() {
		a.Cancel(t.Context(), "k")
		canceled <- f.open()
	}()
	select {
	case <-canceled:
		t.Fatal("it did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	assert.Zero(t, <-canceled)
	require.Error(t, <-ordered)
}
