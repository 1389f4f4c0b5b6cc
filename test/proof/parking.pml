/*
 * This is a model of how consumers park and wake: of shard/park.go and of the code
 * that works together with it (take.go and turn.go, Add, Done, close in shutdown.go).
 *
 * Each labelled step is one access to shared memory, one operation on a channel, or
 * a critical section in which one access can be seen from outside. Others see its
 * other accesses only after they have the lock, so the section may be one step. Add
 * has two accesses that can be seen, and is two steps.
 *
 * A state is quiet if no process can take a step unless something happens outside: a
 * handler returns, a context ends, a caller calls ShutDown. What is proved of each
 * quiet state: no worker is parked while an item is ready (lostWakeUp) or after a
 * shutdown (parkedAfterShutDown); nothing is ready once all workers have left
 * (leftBehind); a worker has each item that was handed out (lostItem). At most one
 * token is out (twoTokens). Under weak fairness each ready item is handed out
 * (SERVED), and each Get returns after ShutDown (RELEASED).
 *
 * A configuration is a set of -D flags. proof_test.go has those that are checked.
 * The flags that begin a variant (#ifdef NO_RESCAN, ...) each break the protocol in
 * one place, and Spin must find the harm.
 */

/* ---- The configuration ---- */

#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef SHARDS_PER_WORD       /* 64 in Go; with 1 every check reads all words */
#define SHARDS_PER_WORD 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef ADDS                  /* items that each producer adds */
#define ADDS 1
#endif
#ifndef CONSUMERS             /* at most 3 */
#define CONSUMERS 2
#endif
#ifndef CANCELS               /* the number of consumers that call GetContext */
#define CANCELS 0
#endif
#ifndef SHUTDOWN              /* 1: there is a call of ShutDown, at any time */
#define SHUTDOWN 1
#endif
#ifndef RERUNS                /* the number of items that are dirty at their Done */
#define RERUNS 0
#endif

#define WORDS ((SHARDS + SHARDS_PER_WORD - 1) / SHARDS_PER_WORD)
#define wordOf(shard) ((shard) / SHARDS_PER_WORD)
#define bitOf(shard)  (1 << ((shard) % SHARDS_PER_WORD))

/* ---- The queue ---- */

bool locked[SHARDS];          /* shard.mu, between the two steps of Add */
byte fifo[SHARDS];            /* shard.fifo.length; read and written under the lock */
byte readyBits[WORDS];        /* Set.readyBits; unused with one shard */
byte parked;                  /* parker.parked */
bool searching;               /* parker.searching */
bool begun, complete;         /* closing */

/* The token channel works as in the Go runtime (runtime/chan.go, select.go). A send
 * passes the token to a blocked receiver, if there is one, and puts it into the
 * buffer otherwise. A receiver takes it from there, or blocks. A goroutine that is
 * blocked in a select is released once, by the first case that is ready. */
bool buffered;                /* the token is in the channel */
mtype = { awake, blocked, chosen, canceled };
mtype at[CONSUMERS] = awake;  /* chosen, canceled: why it was released */
bool ended[CONSUMERS];        /* its context has ended */

/* These are the three calls of take that a consumer can be in. */
mtype = { getting, awaiting, holding };

byte reruns = RERUNS;

/* ---- What is observed. The protocol reads none of this. ---- */

byte running = PRODUCERS + CONSUMERS; /* processes that can take a step by themselves */
bool tokenOut;                /* between a send and the searcher's clearing */
byte processing;              /* items that were handed out and are not Done */
byte busy;                    /* workers in their handlers */
byte returned;                    /* consumers that returned shutdown */
bool leftEarly;               /* a consumer left after a Done that made an item ready */
bool lostWakeUp, parkedAfterShutDown, leftBehind, lostItem, wrongBit, stuckToken, twoTokens;

#if CONSUMERS == 1
#define blockedConsumers (at[0] == blocked)
#elif CONSUMERS == 2
#define blockedConsumers ((at[0] == blocked) + (at[1] == blocked))
#else
#define blockedConsumers ((at[0] == blocked) + (at[1] == blocked) + (at[2] == blocked))
#endif

#if SHARDS == 1
#define ready (fifo[0])
#define wrong (false)
#elif SHARDS == 2
#define ready (fifo[0] + fifo[1])
#define wrong (isWrong(0) || isWrong(1))
#else
#define ready (fifo[0] + fifo[1] + fifo[2])
#define wrong (isWrong(0) || isWrong(1) || isWrong(2))
#endif
#define isWrong(shard) ((fifo[shard] > 0) != ((readyBits[wordOf(shard)] & bitOf(shard)) != 0))

/* A process comes to rest: it is blocked, in its handler, or finished. If it is the
 * last one, nothing happens any more without an outside event: a handler returns
 * (which may take forever), a context ends, or ShutDown is called. Then: */
inline rest() {
	running--;
	if
	:: running == 0 ->
		/* No consumer is parked while an item is ready (C4). */
		lostWakeUp = ready > 0 && blockedConsumers > 0;
		assert(!lostWakeUp);
		/* No consumer is parked after a shutdown (C10). */
		parkedAfterShutDown = begun && blockedConsumers > 0;
		assert(!parkedAfterShutDown);
		/* No consumer returned the shutdown too soon: after the last one left,
		 * nothing is ready, unless a worker left its loop early (C2). */
		leftBehind = returned > 0 && busy == 0 && ready > 0 && !leftEarly;
		assert(!leftBehind);
		/* Each item that was handed out has a worker, which will call Done. */
		lostItem = processing != busy;
		assert(!lostItem);
#ifdef STRUCTURE
		/* The ready bits are right, and the token is not lost. */
		wrongBit = wrong;
		assert(!wrongBit);
		stuckToken = searching != buffered;
		assert(!stuckToken);
#endif
	:: else
	fi
}

inline wakeUp(consumer, why) {
	at[consumer] = why;
	running++
}

/* s.parker.token <- struct{}{}. Any blocked receiver may get it. Go chooses the one
 * that has been blocked longest. */
inline send() {
	/* At most one token is out, so that a send never blocks. */
	twoTokens = buffered || tokenOut;
	assert(!twoTokens);
	tokenOut = true;
	if
	:: at[0] == blocked -> wakeUp(0, chosen)
#if CONSUMERS > 1
	:: at[1] == blocked -> wakeUp(1, chosen)
#endif
#if CONSUMERS > 2
	:: at[2] == blocked -> wakeUp(2, chosen)
#endif
	:: else -> buffered = true
	fi
}

inline clearSearching() {
	searching = false;
	tokenOut = false
}

/* Both need the shard's lock. */
inline markReady(wasEmpty, shard) {
#if SHARDS > 1
	if
	:: wasEmpty -> readyBits[wordOf(shard)] = readyBits[wordOf(shard)] | bitOf(shard)
	:: else
	fi
#else
	skip
#endif
}

inline markEmpty(isEmpty, shard) {
#if SHARDS > 1
	if
#ifdef NO_MARK_EMPTY
	:: isEmpty
#else
	:: isEmpty -> readyBits[wordOf(shard)] = readyBits[wordOf(shard)] & (255 - bitOf(shard))
#endif
	:: else
	fi
#else
	skip
#endif
}

/* ---- The processes ---- */

/* A producer adds items to its shard, or to any (ANY_SHARD). A deduplicated Add
 * changes nothing here, and is left out. */
proctype Producer(byte shard) {
	byte adds = ADDS;
	bool first;

add:
	atomic {
		if
		:: adds > 0 -> adds--
		:: else -> goto finished
		fi;
#ifdef ANY_SHARD
		if
		:: shard = 0
		:: shard = SHARDS - 1
		fi
#endif
	}
#ifdef SIGNAL_BEFORE_PUBLISH
	goto wake_parked;
#endif
#ifdef BEGUN_READ_BEFORE_LOCK
add_begun:
	if
	:: begun -> goto add
	:: else
	fi;
	atomic { !locked[shard] -> locked[shard] = true }
#else
add_begun:
	atomic {
		!locked[shard];       /* lock */
		if
		:: begun -> goto add
		:: else -> locked[shard] = true
		fi
	}
#endif
add_push:
	atomic {
		first = fifo[shard] == 0;
		fifo[shard]++;
#ifndef SET_BIT_AFTER_UNLOCK
		markReady(first, shard);
#endif
		locked[shard] = false /* unlock */
	}
#ifdef SET_BIT_AFTER_UNLOCK
	atomic { markReady(first, shard) }
#endif
#ifdef SIGNAL_BEFORE_PUBLISH
	goto add;
#endif

wake_parked:
	if
	:: parked > 0
	:: else -> goto woken
	fi;
#ifdef NO_CAS
wake_load:
	if
	:: !searching
	:: else -> goto woken
	fi;
	searching = true;
#else
wake_claim:
	atomic {
		if
		:: !searching -> searching = true
		:: else -> goto woken
		fi
	}
#endif
wake_send:
	atomic { true; send() }
woken:
#ifdef SIGNAL_BEFORE_PUBLISH
	goto add_begun;
#else
	goto add;
#endif

finished:
	atomic { rest() }
}

/* A consumer calls Get until that returns shutdown, and calls Done for every item. The
 * first CANCELS consumers call GetContext, and stop when their context has ended. */
proctype Consumer(byte me) {
	byte shard;               /* that it unread into, or that its item is of */
	byte word, unread;         /* the word that it reads next, and the number of unread words */
	bool closed;              /* await: the queue was closed before take */
	bool found;               /* take: an item */
	bool last, first;         /* the FIFO is empty after pop, or was before push */
	mtype taking = getting;   /* which of the three calls of take this is */
	bool afterDone;           /* which of the two calls of wake this is */

get:
	atomic {
		taking = getting; found = false;
		if
		:: me < CANCELS && ended[me] ->
			leftEarly = RERUNS > 0;
			goto gone
		:: else
		fi
	}

	/* -- take: first a check without a lock (lockReady), then the pop.
	 *
	 * lockReady visits the words of readyBits, beginning at one of any lane. It tries
	 * the locks of the shards whose bits it sees, and if all are held it waits for the
	 * first. Here it begins at any word, and waits at once for any shard in the first
	 * word that is not 0. That is equivalent, because a check has no effect: failing at
	 * a lock and locking another shard later has the effect of beginning at that one
	 * later, and returning to the first has the effect of waiting for it. It returns
	 * nil in both if it saw every word 0, each at a moment of its own. -- */
take:
#if SHARDS > 1
	atomic {
#if WORDS > 1
		if
		:: word = 0
		:: word = WORDS - 1
		fi;
#else
		word = 0;
#endif
		unread = WORDS
	}
take_read:
	atomic {
		if
		:: readyBits[word] == 0 ->
			unread--;
			word = (word + 1) % WORDS;
			if
			:: unread > 0 -> goto take_read
			:: else -> goto taken
			fi
		:: readyBits[word] & 1 -> shard = word * SHARDS_PER_WORD
		:: readyBits[word] & 2 -> shard = word * SHARDS_PER_WORD + 1
		:: readyBits[word] & 4 -> shard = word * SHARDS_PER_WORD + 2
		fi
	}
#endif
take_lock:
	atomic {
		!locked[shard];       /* lock; pop: */
		if
		:: fifo[shard] > 0 ->
			fifo[shard]--; processing++;
			found = true; last = fifo[shard] == 0
		:: else -> last = false
		fi;
#ifndef CLEAR_BIT_AFTER_UNLOCK
		markEmpty(last, shard)
#endif
	}                             /* unlock */
#ifdef CLEAR_BIT_AFTER_UNLOCK
	atomic { markEmpty(last, shard) }
#endif
#if SHARDS > 1
	if
	:: !found -> goto take
	:: else
	fi;
#endif
taken:
	if
	:: taking == holding -> goto searched
	:: taking != holding && found -> goto process
	:: taking == awaiting && !found -> goto await_closed
	:: taking == getting && !found
	fi;

	/* -- await: repeat until there is an item, a shutdown, or the context's end. -- */
await:
#ifdef COMPLETE_READ_AFTER_TAKE
	atomic { taking = awaiting; goto take }
await_closed:
	closed = complete;
#else
await_complete:
	atomic { closed = complete; taking = awaiting; goto take }
await_closed:
#endif
	if
	:: closed -> goto get_shutdown
	:: else
	fi;

	/* -- park -- */
#ifdef CHECK_BEFORE_ANNOUNCE
	goto park_check;
#endif
park_announce:
	parked++;
#ifdef CHECK_BEFORE_ANNOUNCE
	goto park_block;
#endif
#ifndef NO_RESCAN
park_check:
#if SHARDS == 1
	atomic {
		!locked[0];           /* length: the lock is free at some moment */
		if
		:: fifo[0] > 0 -> goto park_withdraw
		:: else
		fi
	}
#else
	word = 0;
	do
	:: word < WORDS && readyBits[word] != 0 -> goto park_withdraw
	:: word < WORDS && readyBits[word] == 0 -> word++
	:: word == WORDS -> break
	od;
#endif
#endif
#ifndef NO_CHECK_OF_COMPLETE
park_check_complete:
	if
	:: complete -> goto park_withdraw
	:: else
	fi;
#endif
#ifdef CHECK_BEFORE_ANNOUNCE
	goto park_announce;
#endif
park_block:
	atomic {
		if
		:: buffered -> buffered = false; at[me] = chosen
		:: me < CANCELS && ended[me] -> at[me] = canceled
		:: !buffered && !(me < CANCELS && ended[me]) -> at[me] = blocked; rest()
		fi
	}
end_blocked:
	at[me] != blocked;
	goto park_wakes;
park_withdraw:
#ifdef WITHDRAW_DRAINS_TOKEN
	buffered = false;
#endif
	parked--;
	goto await;
park_wakes:
	atomic {
		parked--;
		if
		:: at[me] == canceled -> at[me] = awake; goto gone
		:: at[me] == chosen -> at[me] = awake
		fi
	}

	/* -- the searcher -- */
#ifdef CANCEL_TAKES_TOKEN
	if
	:: me < CANCELS && ended[me] -> goto gone
	:: else
	fi;
#endif
#ifdef CANCEL_CLEARS_ONLY
	if
	:: me < CANCELS && ended[me] -> atomic { clearSearching() }; goto gone
	:: else
	fi;
#endif
search:
	atomic { taking = holding; goto take }

	/* -- passOn -- */
searched:
#ifdef NO_PASS_ON
	goto passed;
#endif
#ifndef PASS_ON_BEFORE_CLEAR
pass_clear:
	atomic { true; clearSearching() };
#endif
#ifdef NO_LAST_CHECK
	goto passed;
#endif
#ifdef NO_LAST_CHECK_IF_FOUND
	if
	:: found -> goto passed
	:: else
	fi;
#endif
#ifdef NO_LAST_CHECK_IF_NOT_FOUND
	if
	:: !found -> goto passed
	:: else
	fi;
#endif
pass_check:
#if SHARDS == 1
	atomic {
		!locked[0];
		if
		:: fifo[0] > 0 -> goto pass_wake
		:: else
		fi
	}
#else
	word = 0;
	do
	:: word < WORDS && readyBits[word] != 0 -> goto pass_wake
	:: word < WORDS && readyBits[word] == 0 -> word++
	:: word == WORDS -> break
	od;
#endif
#ifndef NO_BROADCAST
pass_check_complete:
	if
	:: complete -> goto pass_wake
	:: else
	fi;
#endif
#ifdef PASS_ON_BEFORE_CLEAR
	atomic { clearSearching() };
#endif
	goto passed;
pass_wake:
#ifdef PASS_ON_BEFORE_CLEAR
	atomic { clearSearching() };
#endif
	afterDone = false;
	goto wake_parked;
passed:
	if
	:: found -> goto process
	:: else -> goto await
	fi;

	/* -- The worker has the item. Done of an item that was not added again changes
	 * nothing that is modeled here. A dirty one becomes ready again. -- */
process:
#ifdef CANCEL_DROPS_ITEM
	if
	:: me < CANCELS && ended[me] -> goto gone
	:: else
	fi;
#endif
	atomic { busy++; taking = getting; found = false; closed = false; rest() }
#ifdef HANDLERS_NEVER_RETURN
end_busy:
	false;
#endif
	atomic {
		busy--; running++;
		if
		:: processing--; goto get
		:: reruns > 0 -> reruns--
		fi
	}
done_push:
	atomic {
		!locked[shard];       /* lock */
		processing--;
		first = fifo[shard] == 0;
		fifo[shard]++;
		markReady(first, shard)
	}                             /* unlock */
#ifdef NO_WAKE_AT_DONE
	goto get;
#endif
	afterDone = true;

	/* -- wake, after passOn and after Done -- */
wake_parked:
	if
	:: parked > 0
	:: else -> goto woken
	fi;
#ifdef NO_CAS
wake_load:
	if
	:: !searching
	:: else -> goto woken
	fi;
	searching = true;
#else
wake_claim:
	atomic {
		if
		:: !searching -> searching = true
		:: else -> goto woken
		fi
	}
#endif
wake_send:
	atomic { true; send() }
woken:
	if
	:: afterDone -> goto get
	:: else -> goto passed
	fi;

	/* -- the consumer returns -- */
get_shutdown:
	atomic { returned++; goto gone }
gone:
	atomic { rest() }
}

/* ShutDown, at any time, once. A second call ends at the compare-and-swap. */
proctype Closer() {
	byte shard;

close_begun:
	atomic { begun = true; running++ }
#ifdef ONE_FLAG_SHUTDOWN
	complete = true;
	goto close_wake;
#endif
close_shard:
	atomic {
		!locked[shard];       /* closeShard: under the lock */
		shard++;
		if
		:: shard < SHARDS -> goto close_shard
		:: else -> shard = 0
		fi
	}
#ifndef WAKE_BEFORE_COMPLETE
close_complete:
	complete = true;
#endif
close_wake:
wake_parked:
	if
	:: parked > 0
	:: else -> goto woken
	fi;
#ifdef NO_CAS
wake_load:
	if
	:: !searching
	:: else -> goto woken
	fi;
	searching = true;
#else
wake_claim:
	atomic {
		if
		:: !searching -> searching = true
		:: else -> goto woken
		fi
	}
#endif
wake_send:
	atomic { true; send() }
woken:
#ifdef WAKE_BEFORE_COMPLETE
	complete = true;
#endif
	atomic { rest() }
}

/* The end of a consumer's context, at any time. Err returns an error only after Done
 * is closed, and closing it releases the consumer if it is blocked. */
proctype Canceler(byte consumer) {
cancel:
	atomic {
		ended[consumer] = true;
		if
		:: at[consumer] == blocked -> wakeUp(consumer, canceled)
		:: else
		fi
	}
}

init {
	byte i;
	atomic {
		for (i : 1 .. PRODUCERS) { run Producer((i - 1) % SHARDS) }
		for (i : 1 .. CONSUMERS) { run Consumer(i - 1) }
#if CANCELS > 0
		for (i : 1 .. CANCELS) { run Canceler(i - 1) }
#endif
#if SHUTDOWN
		run Closer()
#endif
	}
}

/* ---- Liveness, under weak fairness ---- */

#ifdef SERVED
/* A ready item is handed out while there are consumers: no process spins, either. */
ltl served { [] (ready > 0 -> <> (ready == 0)) }
#endif
#ifdef RELEASED
/* After ShutDown every consumer returns. */
ltl released { [] (begun -> <> (returned == CONSUMERS)) }
#endif
