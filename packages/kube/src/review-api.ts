// client-node's APIs alone have no retries, shared connections, rate limits, deadlines or metrics.

import {
  AuthenticationV1Api,
  AuthorizationV1Api,
  createConfiguration,
  RequestContext,
  ResponseContext,
  wrapHttpLibrary,
  type Configuration,
} from '@kubernetes/client-node';
import type { CallOptions, KubeClient } from './kube-client.ts';

type Sender = Pick<KubeClient, 'create'>;
type Options = Omit<CallOptions, 'query'>;

/** client-node's models are classes, but its documentation passes object literals. */
type Literal<T> = T extends Date ? T : T extends object ? { [Key in keyof T]: Literal<T[Key]> } : T;
type Api<All, Name extends keyof All> = {
  readonly [Key in Name]: All[Key] extends (request: infer Request) => infer Response
    ? (request: Literal<Request>) => Response
    : never;
};

/** Returns the configuration of an API whose requests are reviews. `client` sends them, and rejects as for its other calls. */
const sentBy = (client: Sender, options: Options): Configuration =>
  createConfiguration({
    // The host does not matter, because only the path is read.
    baseServer: { makeRequestContext: (path, method) => new RequestContext(`http://server${path}`, method) },
    httpApi: wrapHttpLibrary({
      send: async (context) => {
        const review: unknown = JSON.parse(context.getBody() as string);
        const response = await client.create<string>(new URL(context.getUrl()).pathname, review, options);
        // The client has parsed the response. client-node parses JSON, but leaves text as it is.
        const body = { text: () => Promise.resolve(response), binary: unread, stream: unread };
        return new ResponseContext(201, { 'content-type': 'text/plain' }, body);
      },
    }),
  });

const unread = (): never => {
  throw new Error('client-node reads a response as text');
};

/** Asks whose token the client has. */
export const authenticationApi = (
  client: Sender,
  options: Options = {},
): Api<AuthenticationV1Api, 'createSelfSubjectReview'> => new AuthenticationV1Api(sentBy(client, options));

type AccessReviews = 'createSelfSubjectAccessReview' | 'createSelfSubjectRulesReview' | 'createSubjectAccessReview';

/** Asks what a user may do. */
export const authorizationApi = (client: Sender, options: Options = {}): Api<AuthorizationV1Api, AccessReviews> =>
  new AuthorizationV1Api(sentBy(client, options));
