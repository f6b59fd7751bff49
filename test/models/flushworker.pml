/*
 * flushworker.pml
 *	  Requests to flush workers, and the posts of these.
 *
 * Properties: no request is lost: after one that was noted, the worker tries to flush
 * the index, or its post is given up, so that the next request takes another one, or is
 * refused.  A worker works only at a post that has its number.  A database has one post
 * at most, and only as many posts are taken as there may be workers.
 *
 * What is in `atomic` is one step: what is done under the lock of the requests, or to
 * the buffer of an index.  Time may pass at each request: then posts whose worker has
 * not begun are stale, and an index that rests has rested.  Latches are left out, since
 * a worker that waits looks again after a while, and so is a worker that dies without
 * giving up its post, since the server then begins with no posts.
 *
 *	 here				in the code
 *	 -----------------	-----------------------------------------------------
 *	 Post				Post (shared/flushrequests.c), with one Request
 *	 inserter			sware_request_flush (shared/flushrequests.c), called by
 *						begin_in_turn (buffer/flush.c)
 *	 is_frequent		take_post (shared/flushrequests.c)
 *	 worker				sware_flush_worker_main, work, serve, recover
 *						(worker/flushworker.c)
 *	 begin, next,		sware_post_begin, sware_post_next, sware_post_is_done
 *	 is_done			(shared/flushrequests.c)
 *	 end_post			sware_post_end, end_at_exit (shared/flushrequests.c)
 *
 * Two sessions request flushes of two indexes, of one database, or in a variant of two,
 * for which there may be one worker.
 *
 * Variant: ONE_WORKER
 */

#define POSTS	2
#define NONE	0

#ifdef ONE_WORKER
#define MOST				1
#define DATABASE(index)		(index)
#else
#define MOST				2
#define DATABASE(index)		1
#endif

typedef Post {
	byte database = NONE;
	byte number;
	bool has_begun;
	byte in_work = NONE;
	byte index = NONE;			/* of the request */
	bool is_pending;
	bool is_resting
};
Post post[POSTS];
byte latest;					/* number */
byte working;					/* workers that have begun, and not ended */
byte more = 1;					/* how often more is to be flushed */

/* Has somebody requested a flush of this index, which was noted, and not tried? */
bool owed[3];

#define TAKEN \
	((post[0].database != NONE -> 1 : 0) + (post[1].database != NONE -> 1 : 0))
#define FREE_POST	(post[0].database == NONE -> 0 : 1)

#define POST_OF(its_database) \
	(post[0].database == its_database -> 0 : \
	 (post[1].database == its_database -> 1 : POSTS))

/* Part of a step: nobody owes what was requested at this post any more. */
inline give_up(place)
{
	if
	:: DATABASE(1) == post[place].database -> owed[1] = false
	:: else
	fi;
	if
	:: DATABASE(2) == post[place].database -> owed[2] = false
	:: else
	fi;
	post[place].database = NONE
}

#ifndef WITHOUT_ONLY_UNBEGUN_ARE_STALE
#define MAY_BE_STALE(place)	(!post[place].has_begun)
#else
#define MAY_BE_STALE(place)	true
#endif

/* Part of a step: the worker may have been started too long ago. */
inline look_for_stale(place)
{
	if
	:: post[place].database != NONE && MAY_BE_STALE(place) -> give_up(place)
	:: true
	fi
}

#ifndef WITHOUT_INDEX_IN_WORK_KEEPS_PLACE
#define IS_IN_WORK(place) \
	(post[place].index != NONE && post[place].index == post[place].in_work)
#else
#define IS_IN_WORK(place)	false
#endif

/* Part of a step: note a request, or refuse it. */
inline note(place)
{
	if
	:: post[place].index == index && post[place].is_resting ->
		if
		:: true						/* refused */
		:: true ->					/* it has rested */
			post[place].is_resting = false;
			post[place].is_pending = true;
			owed[index] = true
		fi
	:: !(post[place].index == index && post[place].is_resting) &&
	   (post[place].index == index || (!post[place].is_pending && !IS_IN_WORK(place))) ->
		post[place].index = index;
		post[place].is_pending = true;
		post[place].is_resting = false;
		owed[index] = true
	:: else								/* there is no room */
	fi
}

#ifndef WITHOUT_POSTS_ARE_COUNTED
#define MAY_BE_TAKEN		(TAKEN < MOST)
#else
#define MAY_BE_TAKEN		true
#endif

#ifndef WITHOUT_REFUSED_POST_HAS_NUMBER
#define IS_REFUSED(place)	(post[place].number == number)
#else
#define IS_REFUSED(place)	true
#endif

proctype inserter(byte only)
{
	byte requests;
	byte index;
	byte mine;
	byte number;

	do
	:: requests < 2 ->
		atomic {
			requests++;
			if
#ifndef ONE_WORKER
			:: index = 3 - only
#endif
			:: index = only
			fi;
			look_for_stale(0);
			look_for_stale(1);
			mine = POST_OF(DATABASE(index));
#ifdef WITHOUT_FOUND_AND_TAKEN_IN_ONE_STEP
		}
		atomic {
#endif
			if
			:: mine < POSTS -> note(mine)
			/* is_frequent */
			:: mine == POSTS && TAKEN < POSTS && MAY_BE_TAKEN ->
				mine = FREE_POST;
				assert(POST_OF(DATABASE(index)) == POSTS);
				latest++;
				number = latest;
				post[mine].database = DATABASE(index);
				post[mine].number = number;
				post[mine].has_begun = false;
				post[mine].in_work = NONE;
				post[mine].index = NONE;
				post[mine].is_pending = false;
				post[mine].is_resting = false;
				assert(TAKEN <= MOST);
				note(mine)
			:: mine == POSTS				/* it flushes */
			fi
		};
		if
		:: number != 0 -> run worker(number)
		:: atomic {
				number != 0 ->			/* the server has no worker left */
				if
				:: post[mine].database != NONE && IS_REFUSED(mine) -> give_up(mine)
				:: else
				fi
			}
		:: number == 0
		fi;
		number = 0;
		mine = 0;
		index = 0
	:: requests == 2 -> break
	od
}

#define IS_MINE	(post[mine].number == number && post[mine].database != NONE)

#ifndef WITHOUT_NUMBER_IS_COMPARED
#define IS_FOR_ME(place)	(post[place].number == number)
#else
#define IS_FOR_ME(place)	(!post[place].has_begun)
#endif

#ifndef WITHOUT_POST_IS_STILL_TAKEN
#define IS_TAKEN(place)		(post[place].database != NONE)
#else
#define IS_TAKEN(place)		true
#endif

/* Part of a step */
inline end_post()
{
	assert(IS_MINE);
	give_up(mine);
	post[mine].has_begun = false;
	working--
}

proctype worker(byte number)
{
	byte mine = POSTS;
	byte seen;

	/* the postmaster may fail to start it */
	if
	:: true
	:: goto ends
	fi;

	/* begin */
	atomic {
		if
		:: IS_FOR_ME(0) && IS_TAKEN(0) -> mine = 0
		:: IS_FOR_ME(1) && IS_TAKEN(1) -> mine = 1
		:: else -> goto ends
		fi;
		assert(IS_MINE);
		post[mine].has_begun = true;
		working++;
		assert(working <= MOST)
	};

	do
	:: atomic {							/* next */
			assert(IS_MINE);
			post[mine].in_work = NONE;
			if
			:: post[mine].is_pending ->
				post[mine].in_work = post[mine].index;
#ifndef WITHOUT_PENDING_ENDS_BEFORE_FLUSH
				post[mine].is_pending = false
#endif
			:: else
			fi;
			seen = post[mine].in_work
		};
		if
		:: atomic {						/* nothing, for some time */
				seen == NONE ->
				if
#ifndef WITHOUT_IDLE_END_LOOKS_AGAIN
				:: post[mine].is_pending
#endif
				:: else ->
					assert(!owed[1] || DATABASE(1) != post[mine].database);
					assert(!owed[2] || DATABASE(2) != post[mine].database);
					end_post();
					goto ends
				fi
			}
		:: atomic { seen != NONE -> owed[seen] = false };
			/* is_done */
			atomic {
				assert(IS_MINE);
#ifdef WITHOUT_PENDING_ENDS_BEFORE_FLUSH
				post[mine].is_pending = false;
#endif
				if
				:: more > 0 ->		/* more is to be done */
					more--;
					owed[seen] = true;
#ifndef WITHOUT_MORE_IS_A_REQUEST
					if
					:: post[mine].index == seen -> post[mine].is_pending = true
					:: else
					fi
#endif
				:: true ->
#ifdef WITHOUT_REQUEST_IN_WORK_IS_KEPT
					if
					:: post[mine].index == seen -> post[mine].is_pending = false
					:: else
					fi;
#endif
					post[mine].in_work = NONE
				:: true ->				/* an error, or a lock was not free */
					if
					:: post[mine].index == seen ->
						post[mine].is_pending = false;
						post[mine].is_resting = true
					:: else
					fi;
					owed[seen] = false;
					post[mine].in_work = NONE
				fi
			}
		/* somebody wants the database, or terminates the worker */
		:: atomic {
				true ->
#ifndef WITHOUT_EXIT_ENDS_POST
				end_post();
#endif
				goto ends
			}
		fi
	od;
ends:
	skip
}

/* When nothing goes on, only workers owe flushes that have not been started. */
active proctype in_the_end()
{
	atomic {
		timeout ->
		assert(!owed[1] || (POST_OF(DATABASE(1)) < POSTS && !post[POST_OF(DATABASE(1))].has_begun));
		assert(!owed[2] || (POST_OF(DATABASE(2)) < POSTS && !post[POST_OF(DATABASE(2))].has_begun))
	}
}

init
{
	atomic {
		run inserter(1);
		run inserter(2)
	}
}
