// Package async is the place of the writer goroutines: bounded staging memory,
// tickets, pinning and back-pressure for the copy and zero-copy modes of
// checkpoint. Versions are written synchronously in this release, so nothing is
// exported yet; docs/architecture.md says how the parts will meet.
package async
