/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  Where the server tells the buffer what is going on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_HOOKS_H
#define SWARE_HOOKS_H

extern void sware_install_hooks(void);

#endif							/* SWARE_HOOKS_H */
