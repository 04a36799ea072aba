import { ShareIndex, type PublicSharesSource } from '@standin/dashboard';
import type { Observation } from './observe-source.ts';

/** The share links of `standin dev`. Its Shares are in the data folder and disappear as soon as they are revoked. */
export const localShares = (observed: Observation): PublicSharesSource['source'] => {
  const index = new ShareIndex();
  for (const object of observed.objects()) index.put(object);
  observed.onChange((ref) => {
    const object = observed.get(ref);
    if (object === undefined) index.remove(ref);
    else index.put(object);
  });
  return {
    find: (tokenSha256) => {
      const share = index.find(tokenSha256);
      const projectUid = share && index.projectUidOf(share);
      return Promise.resolve(share && projectUid !== undefined ? { share, projectUid } : undefined);
    },
  };
};
