/*
 * How the timer of a queue is looked after: a model of shard/driver.go and of what works
 * together with it (delay in delay.go, close in shutdown.go).
 *
 * Each labelled step is one access to shared memory, one operation on a channel or the
 * clock, or a critical section in which one access can be seen from outside. The label
 * stands in README.md beside the line of Go that it models. A configuration is a set of -D flags; driver_test.go has those that are
 * checked. The flags that begin a variant (#ifdef NO_WANTED, ...) each break the
 * protocol in one place, and Spin has to find the harm.
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
#ifndef TIME                  /* ticks until the end of the world; at most 3 */
#define TIME 2
#endif
#ifndef FIRINGS               /* timer functions that run at once, at most */
#define FIRINGS 2
#endif
#ifndef SHUTDOWN              /* 1: somebody calls ShutDown, at any time */
#define SHUTDOWN 1
#endif
#ifndef PANICS                /* calls of the clock that panic, in all */
#define PANICS 0
#endif

#define NEVER 255

/* ---- The queue ---- */

bool locked[SHARDS];          /* shard.mu, between the two steps of delay */
byte wheel[SHARDS];           /* the deadlines filed, a bit each; under the lock */
byte wheelNow[SHARDS];        /* the time of the wheel; under the lock */
byte next[SHARDS] = NEVER;    /* shard.next */
bool begun;                   /* closing.begun */

byte armed = NEVER;           /* driver.armed */
mtype = { resting, held, wanted, stopped };
mtype baton = resting;        /* driver.baton */
bool gone;                    /* driver.gone is closed */

/* ---- The clock ---- */

byte now;
byte timer = NEVER;           /* when the timer fires */
byte panics = PANICS;

/* ---- What is watched. None of this is read by the protocol. ---- */

byte running = ADDERS;        /* those who can take a step of themselves */
byte holders;                 /* those who look after the timer */
bool stopReturned;            /* ShutDown is through with the driver */
bool gaveUp;                  /* the clock panicked twice, so the driver gave up, and has
                                 not set the timer since */
bool noTimer, twoHolders, atWork, notStopped;

/* The earliest of the deadlines, which are at 1 to 3: a world of more time has too many
 * states. */
#define firstBit(bits) ((bits) == 0 -> NEVER : ((bits) & 2 -> 1 : ((bits) & 4 -> 2 : 3)))
#define uncovered(shard) (next[shard] != NEVER && timer > next[shard])

/* Somebody is through. If he is the last, and the timer is not due, nothing will happen
 * unless from outside: time passes, ShutDown is called. Then: */
inline rest() {
	running--;
	if
	:: running == 0 && timer > now ->
		/* A deadline has a timer at or before it, unless the clock is broken. */
#if SHARDS == 1
		noTimer = !begun && !gaveUp && uncovered(0);
#else
		noTimer = !begun && !gaveUp && (uncovered(0) || uncovered(1));
#endif
		assert(!noTimer);
		/* After ShutDown, nobody will ever touch the timer, and it is stopped. */
		notStopped = begun && (baton != stopped || !stopReturned || (timer != NEVER && PANICS == 0));
		assert(!notStopped)
	:: else
	fi
}

/* Whoever calls the clock holds the baton, alone, and ShutDown has not returned. */
inline hold() {
	holders++;
	twoHolders = holders > 1;
	assert(!twoHolders)
}

inline checkWork() {
	atWork = stopReturned;
	assert(!atWork)
}

/* poke, and all that its caller does then as the holder of the baton. It ends at the
 * label poked of the process. known is the deadline that the caller has filed, or NEVER. */
inline poke() {
	again = false;
seize:
	atomic {
		if
		:: baton == resting -> baton = held; hold()
#ifdef NO_WANTED
		:: baton == held -> goto poked
#else
		:: baton == held -> baton = wanted; goto poked
#endif
		:: baton == wanted || baton == stopped -> goto poked
		fi
	}

settle_begun:
	if
	:: begun -> goto retire_stop
	:: else
	fi;

arm_known:
	if
#ifdef NEVER_IS_TRUSTED
	:: known == NEVER -> goto arm_never
#else
	:: known == NEVER || armed == NEVER -> goto arm_never
#endif
	:: known != NEVER && armed <= known -> goto settle_rest
	:: else -> earliest = known
	fi;
arm_known_set:
	atomic { armed = earliest; known = NEVER; goto arm_timer };

arm_never:
#ifndef ARMED_STAYS
	armed = NEVER;
#endif
	earliest = NEVER;
	shard = 0;
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
arm_look:
	if
	:: earliest <= now -> goto expire_now
	:: else
	fi;
arm_timer:
	atomic {
		checkWork();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = earliest; gaveUp = false
		fi
	}
arm_look_again:
	if
	:: earliest <= now -> goto expire_now
	:: else -> goto settle_rest
	fi;
arm_stop:
	atomic {
		checkWork();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = NEVER; gaveUp = false
		fi
	}
settle_rest:
#ifdef REST_BY_STORE
	atomic { baton = resting; holders--; earliest = 0; known = NEVER; goto poked }
#else
	atomic {
		earliest = 0; known = NEVER;
		if
		:: baton == held -> baton = resting; holders--; goto poked
		:: else
		fi
	}
#endif
settle_again:
	atomic { baton = held; goto settle_begun }

	/* expireDue. From here on, earliest is the time of its round. */
expire_now:
	atomic { earliest = now; shard = 0; more = false; known = NEVER }
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
	if
	:: more -> goto expire_now
	:: else -> goto settle_begun
	fi;

retire_stop:
	atomic {
		checkWork();
		if
		:: panics > 0 -> panics--; goto abandon
		:: timer = NEVER
		fi
	}
retire_stopped:
	atomic { baton = stopped; holders-- }
retire_gone:
	gone = true;
	goto poked;

	/* The clock has panicked. */
abandon:
	if
	:: again -> goto drop_armed
	:: else
	fi;
abandon_held:
	atomic { again = true; known = NEVER; goto settle_begun }
drop_armed:
	atomic { armed = NEVER; gaveUp = true; earliest = 0 }
drop_begun:
	if
	:: begun -> goto retire_stopped
	:: else
	fi;
#ifdef DROP_BY_STORE
	atomic { baton = resting; holders--; goto poked };
#endif
drop_rest:
	atomic {
		if
		:: baton == held -> baton = resting; holders--; goto poked
		:: else
		fi
	}
drop_again:
	atomic { baton = held; goto drop_begun }
}

/* ---- The processes ---- */

/* AddAfter. */
proctype Adder(byte mine) {
	byte adds = ADDS, deadline, shard, earliest, known = NEVER;
	bool again, more;
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

/* The timer's function, each time that it is called. */
proctype Firing() {
	byte shard, earliest, known = NEVER;
	bool again, more;

end_waits:
	atomic { timer <= now -> timer = NEVER; running++ }
	poke();
poked:
	atomic { rest(); goto end_waits }
}

/* Time passes, from outside. */
proctype Clock() {
	do
	:: now < TIME -> now++
	:: else -> break
	od
}

/* ShutDown, at any time. */
proctype Closer() {
	byte shard, earliest, known = NEVER;
	bool again, more;

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
		for (i : 1 .. ADDERS) { run Adder((i - 1) % SHARDS) }
		for (i : 1 .. FIRINGS) { run Firing() }
		run Clock();
#if SHUTDOWN
		run Closer()
#endif
	}
}
