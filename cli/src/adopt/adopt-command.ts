import { API_GROUP, API_VERSION, RESOURCES, type ObjectRef } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { Argument, InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
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

/** Parses `NAME` or `NAMESPACE/NAME`. */
const parseRef = (kind: ObjectRef['kind'], text: string, namespace: string): ObjectRef => {
  const [first = '', second, ...more] = text.split('/');
  const ref = second === undefined ? { kind, namespace, name: first } : { kind, namespace: first, name: second };
  if (more.length > 0 || ref.name === '' || ref.namespace === '')
    throw new PlainError(`${text} must be NAME or NAMESPACE/NAME`);
  return ref;
};

/**
 * Returns whether the object exists. An identity can be moved only from an object that no longer exists. Otherwise, two objects
 * would have the same identity, and the operator would serve only one of them.
 */
const exists = async (client: KubeClient, { kind, namespace, name }: ObjectRef): Promise<boolean> => {
  const { asSourceError, isNotFound, resourcePath } = await import('@standin/kube');
  const { plural } = RESOURCES[kind];
  const found = client.get(resourcePath({ group: API_GROUP, version: API_VERSION, plural, namespace, name }));
  return asSourceError(
    found.then(
      () => true,
      (error: unknown) => {
        if (isNotFound(error)) return false;
        throw error;
      },
    ),
  );
};

export const addAdoptCommand = (admin: Command): void => {
  const command = admin
    .command('adopt')
    .summary('move the identity of an account or project to another name or namespace')
    .description(
      'move the identity of an account or project, with its log, default URI and quota, to another name or namespace (requires permission to read and write Secrets)',
    )
    .addArgument(new Argument('<KIND>').choices(Object.keys(KINDS)))
    .argument('<NAME>', 'the object that receives the identity: NAME, or NAMESPACE/NAME')
    .option('--from <name>', 'the object that had the identity: NAME, or NAMESPACE/NAME')
    .option('--id <uid>', 'the identity itself, as in status.id or in the log', parseId)
    .option('-n, --namespace <name>', 'default namespace for names given without one', 'default')
    .option('--system-namespace <name>', 'namespace of the operator', 'standin-system')
    .option('--kubeconfig <file>', 'use this kubeconfig');
  withExamples(
    command,
    [
      'Give the log and the URI of the deleted project shop to the project store',
      'admin adopt project store --from shop',
    ],
    ['Move an account to the namespace team-b', 'admin adopt account team-b/main --from team-a/main'],
  ).action(async (kindName: keyof typeof KINDS, name: string, raw: unknown) => {
    const { from, id, namespace, systemNamespace, kubeconfig } = optionsSchema.parse(raw);
    const kind = KINDS[kindName];
    const to = parseRef(kind, name, namespace);
    if ((from === undefined) === (id === undefined)) throw new PlainError('pass either --from or --id, but not both');
    const adopted = from === undefined ? { id: id ?? '' } : { from: parseRef(kind, from, namespace) };
    const { loadKubeClient } = await import('@standin/kube/load-kube-client');
    const { adoptIdentity } = await import('@standin/operator/adopt-identity');
    const { identitySecrets } = await import('@standin/operator/identity-secrets');
    const client = loadKubeClient(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig });
    try {
      if ('from' in adopted && (await exists(client, adopted.from)))
        throw new PlainError(
          `${kind} ${adopted.from.namespace}/${adopted.from.name} still exists: delete this ${kind} first`,
        );
      const store = identitySecrets(client, systemNamespace, { createsKey: false });
      const adoption = await adoptIdentity(store, to, adopted);
      stdout.line(adoption.id);
      stderr.line(
        `${kind} ${to.namespace}/${to.name} will use this identity when the operator has read it, by default within ten seconds.`,
      );
      const [before] = adoption.replaced?.split(' ') ?? [];
      if (before !== undefined && before !== adoption.id)
        stderr.line(
          `Its previous identity was ${before}. To undo: standin admin adopt ${kindName} ${name} --id ${before}`,
        );
    } finally {
      await client.close();
    }
  });
};
