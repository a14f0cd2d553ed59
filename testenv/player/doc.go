// Package player plays captured frames of the agents' wire against a real listener, frame by frame.
//
// A scenario file is an array of entries in the order in which they crossed the probe:
//
//	{"dir":"c2h","conn":C,"frame":{…}}     the client on connection C sends this object
//	{"dir":"h2c","conn":C,"frame":{…}}     the hub must send this object to C next
//	{"dir":"c2h","conn":C,"raw":"…"}       the client sends this text; `<…>` describes what is too large to write down
//	{"dir":…,"conn":C,"close":{…}}         that side closes the socket with this code and reason
//	{"note":"…"}                           what happened between frames; a scenario's hooks act on some of them
//
// A connection is dialled when its label first appears. On one connection the hub's frames must come in exactly the
// order of the file, without one missing or one more; frames of different connections may interleave. Members are
// compared by value, whatever their order, except:
//
//	times, versions, config_epoch          any value of the right type; one chat has one timestamp in all its copies
//	seq and what is derived from it        order and equality within the file
//	anon-N names                           equality within the file
//	"<text>"                               any sentence: the hub writes its own
//	welcome                                may have further members
//	error                                  may have an error_code
//
// Before one client acts after another whose last frame got no answer, the player sends a verb that does not exist on the
// first one's connection: the hub handles frames of one connection in order, so its refusal proves that the silent frame
// was handled. The same question at the end finds a frame too many on every bound connection.
package player
