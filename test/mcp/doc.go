// Package mcp tests the MCP server as its clients use it: the real program, natively confined, under the SDK's own client
// over both transports, under the protocol's inspector in its command-line mode, and as the README says to set it up.
package mcp
