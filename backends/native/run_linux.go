package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

const (
	// drainGrace is how long a call waits for what the program's orphans still write.
	drainGrace = 200 * time.Millisecond
	// stuckGrace is how long after the deadline a lane is asked whether it still lives, and how long it has to answer.
	stuckGrace = 10 * time.Second
	// signsOfLife is how often a lane that has killed a call may answer instead of telling its end. A machine with far
	// more to do than it can takes its time to take a sandbox apart; a process that a file system holds may never end.
	signsOfLife = 5
)

// Run runs c under p; see [sandbox.Backend].
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	return b.call(ctx, p, c, b.armory)
}

// call makes a call; see [Backend.prepare] for ahead.
func (b *Backend) call(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command, ahead *armory) (sandbox.Result, error) {
	begin := time.Now()
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: fmt.Errorf("the context has ended already: %w", err)}
	}
	ctx, id, leave, err := b.enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	if c.ID == "" {
		c.ID = newCallID()
	}
	k, err := b.prepare(ctx, &call{b: b, id: id, profile: p.WithDefaults(), command: c}, ahead)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer k.close()
	end, err := k.run(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	k.makeSpare()
	if again, err := k.untaken(end); err != nil {
		return sandbox.Result{}, err
	} else if again {
		// It ended while it waited. Nothing of the program ran, and no input was read for it.
		return b.call(ctx, p, c, nil)
	}
	return k.result(end, time.Since(begin))
}

// otherMemfds refuses a spawner that is not like the first one, for which the report was computed.
func otherMemfds() error {
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "run", Guarantee: sandbox.FSNoexecScratch,
		Cause: errors.New("a later spawner could not make memfds unexecutable, as the first one did"), Fix: "open the backend again",
	}
}

func (k *call) timeout() time.Duration {
	if t := k.command.Timeout; t > 0 {
		return t
	}
	return k.profile.Limits.Wall
}

// ending is how a call ended: the last reply, and whether the caller's context ended it.
type ending struct {
	reply    wire.Reply
	canceled bool
}

// run sends the request, moves the program's input and output, and waits until nothing of the sandbox is left.
func (k *call) run(ctx context.Context) (ending, error) {
	if err := k.takeRunner(ctx); err != nil {
		return ending{}, err
	}
	k.b.amend(k.report, k.profile)
	l := k.runner
	messages, err := l.start(k)
	if err != nil {
		return ending{}, err
	}
	k.giveSpare(true)
	k.sent()
	go k.stdout.run()
	go k.stderr.run()
	if h := k.hook(); h != nil {
		h.handOver(k.feed)
	} else {
		k.feed()
	}
	end, err := k.await(ctx, l, messages)
	k.b.lanes.waited(time.Duration(end.reply.Waited), l.busy())
	if k.stdin != nil {
		k.stdin.Close()
	}
	settle(ctx, end.canceled || end.reply.Cause != wire.CauseNone, k.stdout, k.stderr)
	return end, err
}

// feed has the program's input copied, if it has one.
func (k *call) feed() {
	if k.stdin != nil {
		go feed(k.stdin, k.command.Stdin)
	}
}

// untaken reports whether a call ended before the program was taken by what waited for it, so that it can be made
// again.
func (k *call) untaken(end ending) (bool, error) {
	if k.hook() != nil {
		return k.unapplied(end)
	}
	return end.reply.Untaken && !end.canceled && k.command.Stdin == nil, nil
}

// await waits for the last word about the call.
func (k *call) await(ctx context.Context, l runner, messages <-chan message) (ending, error) {
	var end ending
	stuck := newSuspicion(k.timeout(), k.b.lanes.grace())
	defer stuck.Stop()
	var grace <-chan time.Time
	canceled := ctx.Done()
	for {
		select {
		case m := <-messages:
			if m.err != nil {
				k.over()
				k.lost = m.lost
				return end, m.err
			}
			switch m.reply.Kind {
			case wire.ReplyDone:
				k.over()
				k.b.noteJoined(k, m.reply)
				end.reply = m.reply
				if m.file != nil {
					go m.file.Close() // nobody needs to wait for the end of the mounts
				}
				return end, nil
			case wire.ReplyAlive:
				stuck.answered()
			default:
				// The program has ended and left others behind: they get a moment to say what they have to say.
				grace = k.afterDrain()
			}
		case <-grace:
			l.kill(k.id)
			grace = nil
		case <-canceled:
			end.canceled = true
			l.kill(k.id)
			stuck.Reset(stuck.grace)
			canceled = nil
		case <-stuck.C:
			stuck.late(l, k.id)
		}
	}
}

// noteJoined says once how calls come into their cgroups on v2: as quickly as they could, or not.
func (b *Backend) noteJoined(k *call, r wire.Reply) {
	if k.request.Flags&wire.FlagCgroup != 0 && !r.Joined && r.Started && b.born.CompareAndSwap(false, true) {
		b.log.Debug("calls are born in their cgroups")
	}
	if r.Joined && b.joined.CompareAndSwap(false, true) {
		b.log.Info("no process can be born in a cgroup here: a call after a pause takes some 10 ms longer", "needs", "Linux 5.7, and the right to give the cgroup's cgroup.procs to the spawner")
	}
}

// afterDrain returns a channel that receives when both streams have ended or the grace is over.
func (k *call) afterDrain() <-chan time.Time {
	ch := make(chan time.Time, 1)
	go func() {
		drained(drainGrace, k.stdout, k.stderr)
		ch <- time.Now()
	}()
	return ch
}

// suspicion is about a runner that has not told a call's end when it should have. It is asked for a sign of life before it
// is given up: it keeps the deadline itself, so that one that answers is only slow, or this process was, and what it has
// told already is read before its answer.
type suspicion struct {
	*time.Timer
	grace time.Duration
	// asked says that an answer is due; answers counts those that came.
	asked   bool
	answers int
}

func newSuspicion(deadline, grace time.Duration) *suspicion {
	return &suspicion{Timer: time.NewTimer(deadline + grace), grace: grace}
}

// late gives the runner up when an answer is due, or when answers are all it gives; else it asks for one.
func (s *suspicion) late(r runner, id uint64) {
	switch {
	case s.asked:
		r.fail(errors.New("it did not end a call in time, and does not answer"))
	case s.answers == signsOfLife:
		r.fail(errors.New("it could not end a call"))
	default:
		s.asked = true
		r.ask(id)
		s.Reset(s.grace)
	}
}

func (s *suspicion) answered() {
	s.asked = false
	s.answers++
	s.Reset(s.grace)
}
