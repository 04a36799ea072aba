import type { ObjectRef } from '@standin/contract';
import { Argument, InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import { stderr, stdout } from '../terminal.ts';

const KINDS = { account: 'Account', project: 'Project' } as const;

const optionsSchema = z.object({
  from: z.string().optional(),
  id: z.string().optional(),
  namespace: z.string(),
  systemNamespace: z.string(),
  kubeconfig: z.string().optional(),
});

const parseId = (text: string): string => {
  if (/^[A-Za-z0-9-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('must be a uid, as in status.id or in the log.');
};

/** `NAME`, or `NAMESPACE/NAME`. */
const refOf = (kind: ObjectRef['kind'], text: string, namespace: string): ObjectRef => {
  const [first = '', second, ...more] = text.split('/');
  const ref = second === undefined ? { kind, namespace, name: first } : { kind, namespace: first, name: second };
  if (more.length > 0 || ref.name === '' || ref.namespace === '')
    throw new PlainError(`${text} must be NAME or NAMESPACE/NAME`);
  return ref;
};

export const addAdoptCommand = (program: Command): void => {
  program
    .command('adopt')
    .description(
      'give the identity of an account or a project to another name or namespace: its log, default URI and quota follow (needs the right to read and write Secrets)',
    )
    .addArgument(new Argument('<KIND>').choices(Object.keys(KINDS)))
    .argument('<NAME>', 'the object that continues: NAME, or NAMESPACE/NAME')
    .option('--from <name>', 'the object that had the identity: NAME, or NAMESPACE/NAME')
    .option('--id <uid>', 'the identity itself, as in status.id or in the log', parseId)
    .option('-n, --namespace <name>', 'namespace of names without one', 'default')
    .option('--system-namespace <name>', 'namespace of the operator', 'standin-system')
    .option('--kubeconfig <file>', 'use this kubeconfig')
    .action(async (kindName: keyof typeof KINDS, name: string, raw: unknown) => {
      const { from, id, namespace, systemNamespace, kubeconfig } = optionsSchema.parse(raw);
      const kind = KINDS[kindName];
      const to = refOf(kind, name, namespace);
      if ((from === undefined) === (id === undefined)) throw new PlainError('pass either --from or --id');
      const adopted = from === undefined ? { id: id ?? '' } : { from: refOf(kind, from, namespace) };
      const { loadKubeClient } = await import('@standin/kube/load-kube-client');
      const { adoptIdentity } = await import('@standin/operator/adopt-identity');
      const { identitySecrets } = await import('@standin/operator/identity-secrets');
      const client = loadKubeClient(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig });
      try {
        const store = identitySecrets(client, systemNamespace, { createsKey: false });
        const adoption = await adoptIdentity(store, to, adopted);
        stdout.line(adoption.id);
        stderr.line(`${kind} ${to.namespace}/${to.name} continues with this identity within ten seconds.`);
        const [before] = adoption.replaced?.split(' ') ?? [];
        if (before !== undefined && before !== adoption.id)
          stderr.line(`Its identity before was ${before}. To undo: standin adopt ${kindName} ${name} --id ${before}`);
      } finally {
        await client.close();
      }
    });
};
