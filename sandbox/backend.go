package sandbox

import "context"

// Armer is an optional ability of a [Backend]: sandboxes that are built ahead of their calls.
type Armer interface {
	// Arm has n sandboxes for calls under p stand ready: built, confined by all that p says, empty, and waiting for a
	// program. A call that finds one is spared the building; it is used by that one call and destroyed, as any other, and
	// another takes its place in the background. A call that finds none builds its own. like says what the calls have in
	// common beside the profile: their directory, and whether they have an input; the zero value is right for most. Of
	// calls under p that differ from it in this, the backend learns by itself.
	//
	// What stands ready without being used for a minute is given up until the next call under p. n of 0 or less gives up
	// everything that was armed for p. Each takes resources while it waits: see the backend's documentation.
	//
	// Arm returns when n sandboxes stand ready. An error is the one that a call would get, or that of ctx, and nothing is
	// armed for p then.
	Arm(ctx context.Context, p ContainerProfile, like Command, n int) error
}

// Backend runs commands under profiles. All methods are safe for concurrent use. More abilities are optional
// interfaces, found by a type assertion.
type Backend interface {
	// Name is the backend's short name ("native", "docker"). It is also Result.Backend.
	Name() string

	// Ready answers what a call with p would enforce here and now, without running a program of the caller's. The
	// error is nil exactly when a call would not be refused; the Report is as complete as could be found out either way.
	Ready(ctx context.Context, p ContainerProfile) (Report, error)

	// Prepare does what a call must not spend its time on: fetching an image, resolving an interpreter. It may be
	// called any number of times and is never required; a call that misses something says what to prepare.
	Prepare(ctx context.Context, p ContainerProfile) error

	// Run runs c under p and returns when the program has ended and nothing of the sandbox is left. An error means
	// that the program did not run as asked; everything the program did itself, a non-zero exit and every limit
	// included, is in the Result. When ctx ends first, the sandbox is killed and the Result's status is
	// StatusCanceled; a ctx that has ended before the start is an error, and nothing runs.
	Run(ctx context.Context, p ContainerProfile, c Command) (Result, error)

	// Close kills what still runs, waits for it and gives back every resource. Calls after Close are refused.
	Close() error
}
