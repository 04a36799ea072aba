/** A project in a path of the dashboard or the API. */
export interface ProjectName {
  readonly namespace: string;
  readonly project: string;
}
/** A captured request, identified by its log entry. */
export interface RequestName extends ProjectName {
  readonly id: string;
}
export interface EndpointName extends ProjectName {
  readonly endpoint: string;
}
export interface ReplayName extends ProjectName {
  readonly replay: string;
}
export interface ExpectationName extends ProjectName {
  readonly expectation: string;
}
export interface AccountName {
  readonly namespace: string;
  readonly account: string;
}
