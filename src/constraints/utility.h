/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  The hook that gives keys of statements sware indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_UTILITY_H
#define SWARE_UTILITY_H

extern void sware_install_utility_hook(void);

#endif							/* SWARE_UTILITY_H */
