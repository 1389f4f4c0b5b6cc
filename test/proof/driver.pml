/*
 * This is a model of how the timer of a queue is set: of shard/driver.go and of the
 * code that works together with it (delay in delay.go, close in shutdown.go, and
 * what waits after that, in groupwait.go and gate.go).
 *
 * Each labelled step is one access to shared memory, one operation on a channel or
 * the clock, or a critical section in which one access can be seen from outside.
 *
 * A state is quiet if no process can take a step until time passes or a caller calls
 * ShutDown. What is proved of each quiet state: each deadline has a timer set for it
 * or for earlier, unless the clock has panicked twice (noTimer), and so has each wait
 * of a group or of the gate, also after ShutDown (waitForgotten); ShutDown has
 * returned, and the timer is stopped unless the driver lingers (notStopped). At most
 * one goroutine owns the timer (twoOwners), and nobody uses it after ShutDown
 * (usedAfterStop). There is no deadlock. The model has no clock that is set back.
 *
 * A configuration is a set of -D flags. proof_test.go has those that are checked. The
 * flags that begin a
 * variant (#ifdef NO_NOTIFICATION, ...) each break the protocol in one place, and
 * Spin must find the harm.
 */

/* ---- The configuration ---- */

#ifndef SHARDS                /* 1 or 2 */
#define SHARDS 2
#endif
#ifndef ADDERS                /* goroutines that call AddAfter */
#define ADDERS 2
#endif
#ifndef ADDS                  /* calls of each */
#define ADDS 1
#endif
#ifndef TIME                  /* ticks until time ends; at most 3 */
#define TIME 2
#endif
#ifndef FIRINGS               /* timer functions that run at once, at most */
#define FIRINGS 2
#endif
#ifndef SHUTDOWN              /* 1: there is a call of ShutDown, at any time */
#define SHUTDOWN 1
#endif
#ifndef PANICS                /* the number of calls of the clock that panic */
#define PANICS 0
#endif

#ifndef WAITS                 /* waits of a consumer for a group or for the gate */
#define WAITS 0
#endif
#ifndef GROUPS                /* 1: the queue has groups, 0: what waits is the gate */
#define GROUPS 0
#endif
#ifndef RATES                 /* 1: the queue has a rate, which is taken away and set */
#define RATES 0               /* again */
#endif

#define NEVER 255

/* ---- The queue ---- */

bool locked[SHARDS];          /* shard.mu, between the two steps of delay */
byte wheel[SHARDS];           /* the deadlines filed, a bit each; under the lock */
byte wheelNow[SHARDS];        /* the time of the wheel; under the lock */
byte next[SHARDS] = NEVER;    /* shard.next */
bool begun;                   /* closing.begun */
byte wait = NEVER;            /* the first of Set.waits, or gate.opens */
byte rate = RATES;            /* which gate.bucket there is: 0 none, 1 the first, 2 the
                                 second */

byte armed = NEVER;           /* driver.armed */
mtype = { timerIdle, timerRunning, timerNotified, timerStopped };
mtype ownership = timerIdle;        /* driver.ownership */
bool gone;                    /* driver.gone is closed */
bool lingering;               /* driver.lingering */

/* ---- The clock ---- */

byte now;
byte timer = NEVER;           /* when the timer fires */
byte panics = PANICS;

/* ---- What is observed. The protocol reads none of this. ---- */

#if WAITS
byte running = ADDERS + 1 + RATES; /* processes that can take a step by themselves */
#else
byte running = ADDERS + RATES;
#endif
byte owners;                  /* processes that own the timer */
bool lingered;                /* the driver had to go on after the shutdown */
bool stopReturned;            /* stop has returned to ShutDown */
bool failed;                  /* the clock panicked twice, and the timer has not been
                                 set since */
bool noTimer, twoOwners, usedAfterStop, notStopped, waitForgotten;

/* The earliest of the deadlines, which are at 1 to 3: with more time there are too
 * many states. */
#define firstBit(bits) ((bits) == 0 -> NEVER : ((bits) & 2 -> 1 : ((bits) & 4 -> 2 : 3)))
#define uncovered(shard) (next[shard] != NEVER && timer > next[shard])

/* A process has finished. If it is the last one, and the timer is not due, nothing
 * happens without an outside event: time passes, or ShutDown is called. Then: */
inline rest() {
	running--;
	if
	:: running == 0 && timer > now ->
		/* A deadline has a timer at or before it, unless the clock is broken. */
#if SHARDS == 1
		noTimer = !begun && !failed && uncovered(0);
#else
		noTimer = !begun && !failed && (uncovered(0) || uncovered(1));
#endif
		assert(!noTimer);
		/* So has a wait, also after ShutDown. */
		waitForgotten = !failed && wait != NEVER && timer > wait;
		assert(!waitForgotten);
		/* ShutDown returns. Then, unless the driver lingers, no process uses the
		 * timer again, and it is stopped. */
		notStopped = begun && (!stopReturned ||
			(!lingered && (ownership != timerStopped || (timer != NEVER && PANICS == 0))));
		assert(!notStopped)
	:: else
	fi
}

/* Only the owner of the timer calls the clock. ShutDown has not returned, or the
 * driver lingers. */
inline own() {
	owners++;
	twoOwners = owners > 1;
	assert(!twoOwners)
}

inline checkUse() {
	usedAfterStop = stopReturned && !lingered;
	assert(!usedAfterStop)
}

/* lingers, after a shutdown. A driver that has gone on once does not stop. */
inline linger() {
	lingered = lingered || GROUPS || rate != 0;
#ifndef NO_LINGERING
	lingering = lingering || GROUPS || rate != 0
#endif
}

/* poke, and all that its caller does then as the owner of the timer. It ends at the
 * label poked of the process. known is the deadline that the caller has filed, or
 * NEVER. */
inline poke() {
	again = false;
acquire:
	atomic {
		if
		:: ownership == timerIdle -> ownership = timerRunning; own()
#ifdef NO_NOTIFICATION
		:: ownership == timerRunning -> goto poked
#else
		:: ownership == timerRunning -> ownership = timerNotified; goto poked
#endif
		:: ownership == timerNotified || ownership == timerStopped -> goto poked
		fi
	}

settle_begun:
	atomic {                      /* two reads are one step, because begun stays true */
		ending = begun;
		if
		:: ending ->
			linger();
			if
			:: lingering -> known = NEVER
			:: else -> ending = false; goto retire_stop
			fi
		:: else
		fi
	};

arm_known:
	if
#ifdef NEVER_IS_TRUSTED
	:: known == NEVER -> goto arm_never
#else
	:: known == NEVER || armed == NEVER -> goto arm_never
#endif
	:: known != NEVER && armed <= known -> goto settle_idle
	:: else -> earliest = known
	fi;
arm_known_set:
	atomic { armed = earliest; known = NEVER; goto arm_timer };

arm_never:
#ifndef ARMED_STAYS
	armed = NEVER;
#endif
arm_wait:
	earliest = wait;
arm_begun:
	if
	:: begun -> goto arm_set
	:: else -> shard = 0
	fi;
arm_read:
	atomic {
		if
		:: next[shard] < earliest -> earliest = next[shard]
		:: else
		fi;
		shard++;
		if
		:: shard < SHARDS -> goto arm_read
		:: else -> shard = 0
		fi
	}
arm_set:
	armed = earliest;
	if
	:: earliest == NEVER -> goto arm_stop
	:: else
	fi;
arm_left:
	if
	:: earliest <= now -> goto expire_now
	:: else
	fi;
arm_timer:
	atomic {
		checkUse();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = earliest; failed = false
		fi
	}
arm_left_again:
	if
	:: earliest <= now -> goto expire_now
	:: else -> goto settle_idle
	fi;
arm_stop:
	atomic {
		checkUse();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = NEVER; failed = false
		fi
	}
settle_idle:
#ifdef IDLE_BY_STORE
	atomic { ownership = timerIdle; owners--; earliest = 0; known = NEVER; goto leave }
#else
	atomic {
		earliest = 0; known = NEVER;
		if
		:: ownership == timerRunning -> ownership = timerIdle; owners--; goto leave
		:: else
		fi
	}
#endif
settle_again:
	atomic { ownership = timerRunning; goto settle_begun }

	/* expireDue. From here on, earliest is the time of its pass. */
expire_now:
	atomic { earliest = now; shard = 0; more = false; known = NEVER }
expire_wait:
	atomic {
		if
		:: wait <= earliest -> wait = NEVER; more = true /* a consumer is woken */
		:: else
		fi
	}
expire_begun:
	if
	:: begun -> goto expire_more
	:: else
	fi;
expire_read:
	if
	:: next[shard] > earliest -> goto expire_next
	:: else
	fi;
	more = true;
expire:
	atomic {
		!locked[shard];       /* lock */
		if
		:: begun -> next[shard] = NEVER
		:: else ->
			wheel[shard] = wheel[shard] & (255 - ((2 << earliest) - 1));
			wheelNow[shard] = earliest;
			next[shard] = firstBit(wheel[shard])
		fi
	}                             /* unlock */
expire_next:
	shard++;
	if
	:: shard < SHARDS -> goto expire_read
	:: else -> shard = 0
	fi;
expire_more:
	if
	:: more -> goto expire_now
	:: else -> goto settle_begun
	fi;

retire_stop:
	atomic {
		checkUse();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = NEVER
		fi
	}
retire_stopped:
	atomic { ownership = timerStopped; owners-- }
#ifndef STOP_KEEPS_RATE
retire_rate:
	if
	:: rate != 0 -> rate = 0
	:: else -> goto retire_gone
	fi;
retire_opens:
	wait = NEVER;
#endif
retire_gone:
	gone = true;
	goto poked;

	/* The timer is idle. */
leave:
	if
	:: ending -> ending = false
	:: else -> goto poked
	fi;
#ifndef NO_LEAVE
leave_gone:
	gone = true;
#endif
	goto poked;

	/* The clock has panicked. */
abandon:
	if
	:: again -> goto drop_armed
	:: else
	fi;
abandon_again:
	atomic { again = true; known = NEVER; goto settle_begun }
drop_armed:
	atomic { armed = NEVER; failed = true; earliest = 0 }
drop_begun:
	atomic {
		ending = begun;
		if
		:: ending ->
			linger();
			if
			:: lingering
			:: else -> ending = false; goto retire_stopped
			fi
		:: else
		fi
	};
#ifdef DROP_BY_STORE
	atomic { ownership = timerIdle; owners--; goto leave };
#endif
drop_idle:
	atomic {
		if
		:: ownership == timerRunning -> ownership = timerIdle; owners--; goto leave
		:: else
		fi
	}
drop_again:
	atomic { ownership = timerRunning; goto drop_begun }
}

/* ---- The processes ---- */

/* AddAfter. */
proctype Adder(byte mine) {
	byte adds = ADDS, deadline, shard, earliest, known = NEVER;
	bool again, more, ending;
#ifdef ARMED_READ_BEFORE_FILING
	bool early;
#endif

file:
	if
	:: adds > 0 -> adds--
	:: else -> goto finished
	fi;
file_time:
	atomic {
		if
		:: now < TIME
		:: else -> goto finished
		fi;
		if
		:: deadline = now + 1
		:: now + 2 <= TIME -> deadline = now + 2
		fi
	}
#ifdef ARMED_READ_BEFORE_FILING
	early = deadline < armed;
#endif
file_begun:
	atomic {
		!locked[mine];        /* lock */
		if
		:: begun -> goto finished
		:: !begun && deadline <= wheelNow[mine] -> goto file /* it is overdue */
		:: else -> locked[mine] = true
		fi
	}
file_next:
	atomic {
		wheel[mine] = wheel[mine] | (1 << deadline);
		if
		:: deadline < next[mine] -> next[mine] = deadline
		:: else
		fi;
		locked[mine] = false  /* unlock */
	}
file_armed:
	if
#ifdef ARMED_READ_BEFORE_FILING
	:: early
#else
	:: deadline < armed
#endif
	:: else -> goto poked
	fi;
	known = deadline;
	deadline = 0;
	poke();
poked:
	atomic { deadline = 0; known = NEVER };
	goto file;

finished:
	atomic { rest() }
}

/* A consumer that waits for a group, or for the gate. The item that it gets in the
 * end, and the token, are left out. */
proctype Waiter() {
	byte waits = WAITS, deadline, mine, shard, earliest, known = NEVER;
	bool again, more, ending;

get:
	if
	:: waits > 0 -> waits--
	:: else -> goto left
	fi;
wait_rate:
	atomic {
		mine = rate;
		if
		:: now == TIME || (!GROUPS && mine == 0) -> goto get /* it need not wait */
		:: now < TIME && (GROUPS || mine != 0) -> deadline = now + 1
		:: now + 2 <= TIME && (GROUPS || mine != 0) -> deadline = now + 2
		fi
	}
wait_file:
	wait = deadline;
wait_rate_again:
	if
	:: rate != mine -> goto wait_reopen
	:: else
	fi;
wait_armed:
	if
	:: deadline < armed
	:: else -> goto poked
	fi;
	poke();
poked:
	atomic { deadline = 0; mine = 0; rest() };
end_parked:                   /* for good, if the clock is broken */
	atomic { wait == NEVER -> running++; goto get };
wait_reopen:
	atomic { wait = NEVER; goto wait_rate };

left:
	atomic { rest() }
}

/* SetRate, twice: it takes the rate away, and sets another. */
proctype Rater() {
	byte to;

set_rate:
	rate = to;
set_opens:
	wait = NEVER;
set_stopped:
	if
#ifdef RATE_AFTER_STOP
	:: true
#else
	:: ownership == timerStopped -> rate = 0; wait = NEVER
	:: else
#endif
	fi;
set_next:
	if
	:: to == 0 -> to = 2; goto set_rate
	:: else
	fi;
	atomic { rest() }
}

/* The timer's function, each time that it is called. */
proctype Firing() {
	byte shard, earliest, known = NEVER;
	bool again, more, ending;

end_waits:
	atomic { timer <= now -> timer = NEVER; running++ }
	poke();
poked:
	atomic { rest(); goto end_waits }
}

/* Time passes. */
proctype Clock() {
	do
	:: now < TIME -> now++
	:: else -> break
	od
}

/* ShutDown, at any time. */
proctype Closer() {
	byte shard, earliest, known = NEVER;
	bool again, more, ending;

close_begun:
	atomic { begun = true; running++ }
close_shard:
	atomic {
		!locked[shard] -> wheel[shard] = 0; next[shard] = NEVER;
		shard++;
		if
		:: shard < SHARDS -> goto close_shard
		:: else -> shard = 0
		fi
	}
#ifndef NO_POKE_AT_STOP
	poke();
poked:
#endif
stop_wait:
	atomic { gone; stopReturned = true; rest() }
}

init {
	byte i;
	atomic {
#if ADDERS
		for (i : 1 .. ADDERS) { run Adder((i - 1) % SHARDS) }
#endif
		for (i : 1 .. FIRINGS) { run Firing() }
#if WAITS
		run Waiter();
#endif
#if RATES
		run Rater();
#endif
		run Clock();
#if SHUTDOWN
		run Closer()
#endif
	}
}
