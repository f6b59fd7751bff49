/*-------------------------------------------------------------------------
 *
 * keptoption.h
 *	  The index of a key keeps the option that asks for sware.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEPTOPTION_H
#define SWARE_KEPTOPTION_H

#include "utils/rel.h"

extern void sware_check_key_option(Relation index);
extern void sware_install_object_hook(void);

#endif							/* SWARE_KEPTOPTION_H */
