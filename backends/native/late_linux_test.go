package native

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// slowRunner tells the end of its call after so many questions whether it still lives, and answers so many of them.
type slowRunner struct {
	messages     chan message
	ends         int
	answers      int
	asked, given int
}

func (r *slowRunner) start(*call) (<-chan message, error) { return r.messages, nil }
func (r *slowRunner) kill(uint64)                         {}
func (r *slowRunner) busy() int                           { return 1 }
func (r *slowRunner) noexecMemfds() bool                  { return true }

func (r *slowRunner) ask(uint64) {
	r.asked++
	if r.asked <= r.answers {
		r.messages <- message{reply: wire.Reply{Kind: wire.ReplyAlive}}
	}
	if r.asked == r.ends {
		r.messages <- message{reply: wire.Reply{Kind: wire.ReplyDone, Cause: wire.CauseTimeout}}
	}
}

func (r *slowRunner) fail(cause error) {
	r.given++
	r.messages <- message{err: cause}
}

func (r *slowRunner) await(t *testing.T) (ending, error) {
	t.Helper()
	r.messages = make(chan message, replies)
	k := &call{b: &Backend{lanes: &lanes{patience: 10 * time.Millisecond}}}
	k.command.Timeout = time.Millisecond
	return k.await(context.Background(), r, r.messages)
}

// A runner that is late with the end of a call is given up only when it does not answer, or does nothing but answer.
func TestLateEnd(t *testing.T) {
	for _, answers := range []int{0, 1} { // the end may come instead of an answer
		slow := &slowRunner{ends: 1, answers: answers}
		end, err := slow.await(t)
		require.NoError(t, err)
		assert.Equal(t, wire.CauseTimeout, end.reply.Cause)
	}
	slow := &slowRunner{ends: signsOfLife, answers: signsOfLife}
	end, err := slow.await(t)
	require.NoError(t, err)
	assert.Equal(t, wire.CauseTimeout, end.reply.Cause)
	assert.Zero(t, slow.given)

	silent := &slowRunner{answers: 1}
	_, err = silent.await(t)
	require.ErrorContains(t, err, "does not answer")
	assert.Equal(t, 2, silent.asked)
	assert.Equal(t, 1, silent.given)

	endless := &slowRunner{answers: 1000}
	_, err = endless.await(t)
	require.ErrorContains(t, err, "could not end a call")
	assert.Equal(t, signsOfLife, endless.asked)
	assert.Equal(t, 1, endless.given)
}

// Both kinds of runner answer, and the call goes on as if nobody had asked.
func TestSignOfLife(t *testing.T) {
	b := testBackend(t)
	ctx, cancel := context.WithCancel(t.Context())
	ends := b.begin(t, ctx, 1, sandbox.ContainerProfile{})
	l := b.spawners()[0]
	ch := make(chan message, replies)
	require.NoError(t, l.expect(1<<40, ch))
	l.ask(1 << 40)
	assert.Equal(t, uint32(wire.ReplyAlive), (<-ch).reply.Kind)
	l.forget(1<<40, ch)
	cancel()
	s := <-ends
	require.NoError(t, s.err)
	assert.Equal(t, sandbox.StatusCanceled, s.result.Status)

	d := &direct{replies: map[uint64]chan message{7: ch}}
	d.ask(7)
	assert.Equal(t, uint32(wire.ReplyAlive), (<-ch).reply.Kind)
	require.Contains(t, d.replies, uint64(7), "its end is still to come")
}
