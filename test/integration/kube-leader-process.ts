/**
 * A leader election candidate in its own process. It notifies its parent when it leads. Its arguments are the kubeconfig, the
 * namespace and the lease.
 */
import { LeaderElector } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import pino from 'pino';

export interface LeaderReport {
  readonly identity: string;
  readonly epoch: number;
}

const [kubeconfigPath = '', namespace = '', name = ''] = process.argv.slice(2);
const elector = new LeaderElector({
  client: loadKubeClient({ kubeconfigPath }),
  namespace,
  name,
  identity: 'child',
  logger: pino({ level: 'silent' }),
});
await elector.run({
  onStartedLeading: ({ epoch }) => {
    process.send?.({ identity: elector.identity, epoch } satisfies LeaderReport);
    return Promise.resolve();
  },
  signal: new AbortController().signal,
});
