/*-------------------------------------------------------------------------
 *
 * scanreads.h
 *	  What scans have read, for users: an option of EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SCANREADS_H
#define SWARE_SCANREADS_H

/*
 * Install the option SWARE of EXPLAIN, if the server lets extensions do so.
 * Called once, when the library is loaded.
 */
extern void sware_install_explain_option(void);

#endif							/* SWARE_SCANREADS_H */
