// Package preview runs the previews of tools: for the people who are asked about a call, and again before
// each attempt that people have approved. It is the only caller of Tool.Preview.
//
// It must never decide whether a call may run. The activities of approvals and attempts import it.
package preview
