// Package judge has the inputs by which several activities judge a call: the tools and
// policies of a worker, the facts of a call for policy, and the subject of an approval.
package judge
