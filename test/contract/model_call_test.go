package contract

import (
	"fmt"
	"strings"
)

// A call is a call of a queue, or, if times is more than 1, as many calls with
// one item after the other.
type call struct {
	kind     callKind
	times    int
	item     int // its place in the table of its type
	number   int
	duration span
	bound    span
}

// callKind is the letter of a call.
type callKind byte

const (
	callAdd            callKind = 'A'
	callAddAfter       callKind = 'W'
	callAddRateLimited callKind = 'R'
	callForget         callKind = 'F'
	callNumRequeues    callKind = 'N'
	callGet            callKind = 'G'
	callGetBeside      callKind = 'g'
	callGetContext     callKind = 'C'
	callGetCanceled    callKind = 'E'
	callCancel         callKind = 'c'
	callCancelAdd      callKind = 'b'
	callAddCancel      callKind = 'B'
	callDone           callKind = 'D'
	callDoneHeld       callKind = 'd'
	callStep           callKind = 'S'
	callStepToNext     callKind = 'n'
	callShutDown       callKind = 'X'
	callDrain          callKind = 'Y'

	callAddBatch         callKind = 'M'
	callDoneBatch        callKind = 'm'
	callDoneHeldBatch    callKind = 'o'
	callGetBatch         callKind = 'L'
	callAddWith          callKind = 'V'
	callAddWithin        callKind = 'v'
	callCancelItem       callKind = 'K'
	callTryAdd           callKind = 'T'
	callTryAddWith       callKind = 'w'
	callAddBatchWith     callKind = 'j'
	callAddContext       callKind = 'U'
	callCancelAddContext callKind = 'u'
	callDrainContext     callKind = 'Z'
	callCancelDrain      callKind = 'z'
	callSnapshot         callKind = 'I'

	callClaim        callKind = 'k'
	callTryClaim     callKind = 't'
	callClaimBatch   callKind = 'l'
	callClaimDone    callKind = 'e'
	callClaimRetry   callKind = 'r'
	callClaimRequeue callKind = 'q'
	callClaimRelease callKind = 'a'
	callDoneClaims   callKind = 'f'
	callEndEnded     callKind = 'x'
)

// A callShape says what arguments a call has.
type callShape struct {
	name                          string
	item, number, duration, bound bool
	// whole says that all the items are for one call.
	whole bool
}

// callKinds has the calls with their names. callMix has their frequencies in
// random programs.
var callKinds = []choice[callShape]{
	{byte(callAdd), callShape{name: "Add", item: true}},
	{byte(callAddAfter), callShape{name: "AddAfter", item: true, duration: true}},
	{byte(callAddRateLimited), callShape{name: "AddRateLimited", item: true}},
	{byte(callForget), callShape{name: "Forget", item: true}},
	{byte(callNumRequeues), callShape{name: "NumRequeues", item: true}},
	{byte(callGet), callShape{name: "Get"}},
	{byte(callGetBeside), callShape{name: "Get at once with what follows"}},
	{byte(callGetContext), callShape{name: "GetContext"}},
	{byte(callGetCanceled), callShape{name: "GetContext with an ended context"}},
	{byte(callCancel), callShape{name: "cancel a parked Get", number: true}},
	{byte(callCancelAdd), callShape{name: "cancel a parked Get, and Add at once", number: true, item: true}},
	{byte(callAddCancel), callShape{name: "Add, and cancel a parked Get at once", number: true, item: true}},
	{byte(callDone), callShape{name: "Done", item: true}},
	{byte(callDoneHeld), callShape{name: "Done of a held item", number: true}},
	{byte(callStep), callShape{name: "Step", duration: true}},
	{byte(callStepToNext), callShape{name: "Step to the next deadline and on, nanoseconds", number: true}},
	{byte(callShutDown), callShape{name: "ShutDown"}},
	{byte(callDrain), callShape{name: "ShutDownWithDrain"}},
	{byte(callAddBatch), callShape{name: "AddBatch", item: true, whole: true}},
	{byte(callDoneBatch), callShape{name: "DoneBatch", item: true, whole: true}},
	{byte(callDoneHeldBatch), callShape{name: "DoneBatch of held items", number: true, whole: true}},
	{byte(callGetBatch), callShape{name: "GetBatch", whole: true}},
	{byte(callAddWith), callShape{name: "AddWith", item: true, number: true, duration: true}},
	{byte(callAddWithin), callShape{name: "AddWith with MaxWait", item: true, number: true, duration: true, bound: true}},
	{byte(callCancelItem), callShape{name: "Cancel", item: true}},
	{byte(callTryAdd), callShape{name: "TryAdd", item: true}},
	{byte(callTryAddWith), callShape{name: "TryAddWith", item: true, number: true, duration: true}},
	{byte(callAddBatchWith), callShape{name: "AddBatchWith", item: true, number: true, duration: true, whole: true}},
	{byte(callAddContext), callShape{name: "AddContext", item: true}},
	{byte(callCancelAddContext), callShape{name: "cancel AddContext", number: true}},
	{byte(callDrainContext), callShape{name: "Drain", number: true}},
	{byte(callCancelDrain), callShape{name: "cancel Drain", number: true}},
	{byte(callSnapshot), callShape{name: "Snapshot", number: true}},
	{byte(callClaim), callShape{name: "Claim"}},
	{byte(callTryClaim), callShape{name: "TryClaim"}},
	{byte(callClaimBatch), callShape{name: "ClaimBatch", whole: true}},
	{byte(callClaimDone), callShape{name: "Done of a claim", number: true}},
	{byte(callClaimRetry), callShape{name: "Retry of a claim", number: true}},
	{byte(callClaimRequeue), callShape{name: "RequeueAfter of a claim", number: true, duration: true}},
	{byte(callClaimRelease), callShape{name: "Release of a claim", number: true}},
	{byte(callDoneClaims), callShape{name: "DoneClaims", number: true, whole: true}},
	{byte(callEndEnded), callShape{name: "every end of an ended claim", number: true}},
}

// callMix has each kind of call in proportion to its frequency.
const callMix = "AAAAAAWWWWWRRRFNGGGGGGgggCCEcbBDdddddddSSSSnnnnXY" +
	"MMmooLLLVVVVvvvKKKTTTUUUuZzI" + "kkkttllleeerrrqqaaffxx" + "wwwjj"

// repeat stands before the times of a call, and the call follows those.
const repeat = '*'

// call reads a call.
func (s *script) call() call {
	c := call{times: 1}
	letter := s.byte()
	if letter == repeat {
		c.times = int(s.byte() - '0')
		letter = s.byte()
	}
	if !strings.ContainsRune(callMix, rune(letter)) {
		letter = callMix[int(letter)%len(callMix)]
	}
	c.kind = callKind(letter)
	shape := choose(callKinds, letter)
	if shape.item {
		c.item = s.item()
	}
	if shape.number {
		c.number = s.number()
	}
	if shape.duration {
		c.duration = s.span()
	}
	if shape.bound {
		c.bound = s.span()
	}
	return c
}

func (c call) text() string {
	var text []byte
	if c.times != 1 {
		text = append(text, repeat, byte('0'+c.times))
	}
	text = append(text, byte(c.kind))
	shape := choose(callKinds, byte(c.kind))
	if shape.item {
		text = append(text, byte('a'+c.item))
	}
	if shape.number {
		text = append(text, byte('0'+c.number))
	}
	if shape.duration {
		text = append(text, byte('0'+c.duration.count), c.duration.unit)
	}
	if shape.bound {
		text = append(text, byte('0'+c.bound.count), c.bound.unit)
	}
	return string(text)
}

// GoString is what rapid prints.
func (c call) GoString() string { return c.text() }

// describe returns the call in readable form.
func (c call) describe(s setup) string {
	shape := choose(callKinds, byte(c.kind))
	var arguments []string
	if shape.item {
		arguments = append(arguments, s.items.show(c.item))
	}
	if shape.number {
		arguments = append(arguments, fmt.Sprint(c.number))
	}
	if shape.duration {
		arguments = append(arguments, c.duration.in(s.tick).String())
	}
	if shape.bound {
		arguments = append(arguments, c.bound.in(s.tick).String())
	}
	line := fmt.Sprintf("%s(%s)", shape.name, strings.Join(arguments, ", "))
	if c.times != 1 {
		line = fmt.Sprintf("%d items from there: %s", c.times, line)
	}
	return line
}
