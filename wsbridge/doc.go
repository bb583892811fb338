// Package wsbridge speaks JSON-RPC 2.0 over one WebSocket, with requests in both directions.
//
// Make a connection with [Accept] on the server or [Dial] on the client; afterwards both ends are the same [Conn].
// Frames are decoded and encoded by the subpackage protocol: JSON text is carried, not re-built. The package knows no
// Toolplane method but $/cancelRequest, and imports nothing of the host. Only websocket.go knows the WebSocket library.
//
// # Limits
//
// Each limit of [Options] refuses loudly and leaves the other calls of the connection unharmed:
//
//   - A message larger than MaxFrameBytes isn't sent: the sender gets CodeTooLarge, and a handler whose answer is too large has
//     that error sent in its place. A peer that sends one nevertheless loses the connection with status 1009, because
//     the rest of the stream can't be trusted to be skipped in bounded time.
//   - A request beyond MaxInFlight is refused with CodeBusy, by the sender before it is sent, and by the receiver.
//   - A notification beyond NotifyQueue is dropped, logged, and reported to the peer by an error with id null.
//   - Sending waits for room in WriteQueue, for as long as the caller's context allows and the peer keeps reading.
//
// Frames that aren't a message (binary, batches, invalid UTF-8, wrong members) are answered with an error and the
// connection stays usable. The reader never waits for a queue: when a peer doesn't read its refusals and they
// pile up, the connection is closed with status 1008.
//
// At worst a connection holds MaxInFlight received requests, MaxInFlight unsent answers and WriteQueue other frames of
// MaxFrameBytes each, plus notifications of twice MaxFrameBytes.
package wsbridge
