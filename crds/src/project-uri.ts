import { createHash } from 'node:crypto';
import type { ProjectSpec } from './v1alpha1/project.ts';

/** 20 characters of 5 bits are 100 bits, so that URIs do not collide and, if the uid is random, cannot be guessed. */
const DERIVED_URI_LENGTH = 20;
/** Crockford's base32 in lowercase: no i, l, o, u. */
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

export const projectUri = (identity: string, { uri }: Partial<ProjectSpec>): string => uri ?? derivedUri(identity);

const derivedUri = (identity: string): string =>
  [...createHash('sha256').update(`standin project ${identity}`).digest().subarray(0, DERIVED_URI_LENGTH)]
    .map((byte) => BASE32.charAt(byte % BASE32.length))
    .join('');
