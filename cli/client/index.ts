/** A client of Standin for tests in Node, published as `standin/client`. It has no dependencies. */
export { StandinAssertionError, StandinError, type AssertionFailure } from './api.ts';
export { connect, type ConnectOptions, type Standin } from './connect.ts';
export { matchers, type ReceivedOptions, type StandinMatchers } from './matchers.ts';
export type {
  AssertionResult,
  AssertOptions,
  CapturedRequest,
  CreatedProject,
  EndpointManifest,
  Expectation,
  NewProject,
  Project,
  WaitOptions,
  Window,
} from './project.ts';
