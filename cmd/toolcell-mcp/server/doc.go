// Package server is an MCP server: it offers some of the tools of package tools to any client that speaks the Model
// Context Protocol, over standard input and output or over HTTP.
//
// Nothing is kept on behalf of a connection. What is to outlive a call belongs to a session, which the server makes, names
// in the result, and is named by later calls in their argument session_id: a workspace, gone when nobody used it for a
// while and when the server ends.
//
// # What it does not protect
//
// A client can do whatever its tools can. Whoever has a session's id can use the session, and over HTTP every client that
// has the token is the same user. The transports are not encrypted. What a workspace holds is measured while programs run
// and after them, and bounded by that alone: what is written between two looks is there, and a file that has no name any
// more is not seen.
package server
