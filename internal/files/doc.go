// Package files is the adapter that gives tools the files of one workspace: it
// implements capability.Files over os.Root.
//
// It must never touch anything outside the root, open what is not a regular
// file or a directory, read more than its caller asks for, or put a path or a
// file's content into an error. Only composition roots may import it.
//
// # What confines it
//
// os.Root resolves every part of a path itself, so "..", absolute paths and
// symbolic links cannot lead out, even if a program swaps them meanwhile. It does not stop
// pipes and devices: these are refused by type before they are opened, opened
// non-blocking, and refused again by the descriptor.
//
// # What it does not stop
//
// A hard link is not told apart from any other file. Reading one is allowed:
// pnpm, Bazel and git make them by the thousand, and making one needs the
// workspace's file system and, with Linux's fs.protected_hardlinks, access to
// the file itself. Writing replaces the name and leaves the other names alone.
// Mounts inside the workspace belong to it. Somebody who can move a directory
// of the workspace elsewhere while it is written to moves the file with it.
//
// # Replacing a file
//
// The content goes to a temporary file beside the target, is synced, gets the
// target's permissions and is renamed over it; then the directory is synced.
// The temporary file is .pawl-tmp-<hash of the name>-<slot>, locked while its
// writer lives: one without a lock is left from a crash, and the next writer of
// the same name removes it. Such names do not exist for tools. Owner and group are kept if
// the process may set them; ACLs, extended attributes and set-user-id bits are not kept.
package files
