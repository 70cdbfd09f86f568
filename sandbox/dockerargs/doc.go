// Package dockerargs reads the part of `docker run`'s command line that agent gateways use, so that a program that only
// knows a container engine can drive any backend. [sandbox.ContainerProfile.RunArgs] writes such a line; Parse reads it
// back to the same profile.
//
// # What it refuses
//
// One table holds the flags that are taken, each with one meaning, docker's own. Every other flag, and every value that
// would be weaker than the hardened profile or that cannot be kept exactly, is an error that names the flag, the reason
// and what to use instead. A hardening flag that is missing is not an error: the profile applies it all the same, and
// [Invocation.Applied] says so.
//
// # What it does not do
//
// Parsing looks at no mount source and starts nothing. Whether a profile can be enforced here is the backend's answer.
package dockerargs
