import type { ForwardActionConfig, ObjectRef } from '@standin/contract';
import type { EndpointSpec } from '@standin/crds';
import { fails } from './findings.ts';
import { originFault, usedSecret, type SecretPlace, type SecretStates, type UsedSecret } from './secrets.ts';
import type { Finding } from './types.ts';

export interface UpstreamSecrets {
  /** The upstream with the headers from Secrets. */
  readonly upstream: ForwardActionConfig;
  /** The Secrets that can be used, for the status. Undefined if there are none. */
  readonly shown: readonly UsedSecret['shown'][] | undefined;
  /** The problem with the first Secret that cannot be used. */
  readonly fault: Finding | undefined;
}

interface SecretHeader extends Pick<SecretPlace, 'name' | 'key' | 'path'> {
  readonly header: string;
}

const secretHeaders = ({ action, forward }: EndpointSpec): readonly SecretHeader[] => {
  // The other block may be a draft, whose Secret must go nowhere.
  if (action !== 'Forward') return [];
  return (forward?.requestHeaders?.set ?? []).flatMap(({ name: header, valueFrom }, index) =>
    valueFrom === undefined
      ? []
      : { ...valueFrom.secretRef, header, path: `spec.forward.requestHeaders.set[${index}].valueFrom.secretRef` },
  );
};

/** Returns the names of the Secrets in an Endpoint's headers for its upstream. */
export const upstreamSecretNames = (spec: EndpointSpec): readonly string[] =>
  secretHeaders(spec).map(({ name }) => name);

/** Returns what the upstream of a valid Endpoint gets from Secrets. */
export const evaluateUpstreamSecrets = (
  { namespace }: Pick<ObjectRef, 'namespace'>,
  spec: EndpointSpec,
  { upstream, states }: { readonly upstream: ForwardActionConfig; readonly states: SecretStates },
): UpstreamSecrets => {
  const headers = secretHeaders(spec);
  if (headers.length === 0) return { upstream, shown: undefined, fault: undefined };
  const ofUpstream = upstreamFault(upstream);
  const found = headers.map(({ header, ...ref }) => {
    const place = { ...ref, namespace, format: 'Header' } as const;
    const state = states(namespace, ref.name);
    const value = ofUpstream ?? usedSecret(place, state);
    return {
      header,
      value: 'ok' in value ? value : (originFault(place, new URL(upstream.url).origin, state) ?? value),
    };
  });
  const used = found.flatMap(({ value }) => ('id' in value ? [value] : []));
  const config = found.map(({ header, value }) => ({ name: header, ...('id' in value && { secretId: value.id }) }));
  return {
    upstream: { ...upstream, secretHeaders: config },
    shown: used.length === 0 ? undefined : distinct(used).map(({ shown }) => shown),
    fault: found.map(({ value }) => value).find((value): value is Finding => 'ok' in value),
  };
};

const distinct = (used: readonly UsedSecret[]): readonly UsedSecret[] => [
  ...new Map(used.map((one) => [one.id, one])).values(),
];

/**
 * Returns the problem with an upstream that no Secret may go to. Everything that decides which server gets a request is compared here
 * and in `originFault`, because the authors of Endpoints may not be allowed to read the Secret.
 */
const upstreamFault = ({ url, host, tls }: ForwardActionConfig): Finding | undefined => {
  if (!url.startsWith('https:'))
    return fails(
      'SecretInvalid',
      'A Secret is only sent to an https upstream: use https, or set value instead of valueFrom.',
      'spec.forward',
    );
  if (host !== undefined)
    return fails(
      'SecretInvalid',
      'A Secret is only sent with the Host header of the upstream, because another one may reach another server: remove spec.forward.host, or set value instead of valueFrom.',
      'spec.forward.host',
    );
  if (tls?.serverName !== undefined && tls.serverName !== new URL(url).hostname)
    return fails(
      'SecretInvalid',
      'A Secret is only sent to a server with a certificate for the host of the URL: remove spec.forward.tls.serverName, or set value instead of valueFrom.',
      'spec.forward.tls.serverName',
    );
  return undefined;
};
