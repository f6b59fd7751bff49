/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  Callbacks and hooks that tell staging what the server is doing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_HOOKS_H
#define SWARE_HOOKS_H

extern void sware_install_hooks(void);

#endif							/* SWARE_HOOKS_H */
