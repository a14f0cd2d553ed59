// Package checker judges a finished run from the outside: from what the clients themselves sent, were told and
// received (package clientlog) and from the exports of the nodes' journals. It runs as a process of its own, asks no
// node anything, and shares no state with what it judges.
//
// Its words, each with the exact rule:
//
//	accepted_lost       a client was told its chat to a seat is accepted, the seat's application never received it, and no
//	                    refusal ended it, nor its own hub before it left. Besides, every accepted record that was owed to another hub must stand in that
//	                    hub's journal, as a chat or as a refusal, even when the application got the same message from a
//	                    second record.
//	delivered_twice     an application was handed one message twice, a message being (sender, client_msg_id) or (hub, seq);
//	                    or one accepted record has two seqs on one hub; or a hub holds more records of one client_msg_id
//	                    than the client sent.
//	order               an application received the messages of one sender in another order than they were accepted in,
//	                    or a hub accepted what came over one connection, or a lane, in another order than it was sent.
//	altered             the payload's or body's digest is not the same everywhere: sender, own copy, both journals, recipient.
//	effect_before_sync  something was told that the final journal of the telling hub does not contain: an own copy, a
//	                    delivered chat, a receipt, a record handed over the link, an acknowledgement.
//	contradiction       one id with two contents, or one message with two outcomes, or a message nobody sent.
//	unproven            a receipt says delivered without the event that would prove it.
//	receipt_missing     a client asked for a receipt of a chat to one seat and was told that the chat is accepted, and was
//	                    told nothing more of it, neither a receipt nor a refusal; or was told that it waits, and not that the
//	                    recipient's application took it, which it did. Besides, what a hub says of another hub's chat must
//	                    stand in that hub's journal.
//	receipt_conflict    a client was told two things under one notification id.
//	receipt_false       a receipt says delivered, and the recipient's application never received the chat; or it is a chat
//	                    for another hub, and that hub's journal says of it nothing of the kind.
//
// Sending again with the same client_msg_id is allowed: the hub makes a second record of it, and only the application
// must see the message once. Evidence that is missing (no export for a hub, a gap in one, an empty log folder) makes
// the report incomplete, and an incomplete report is not OK.
package checker
