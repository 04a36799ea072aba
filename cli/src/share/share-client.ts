/** The Share that `standin share` requests. */
interface WantedShare {
  readonly id: string;
  /** For example `24h`; at most 30d. */
  readonly expiresIn: string;
}

interface MadeShare {
  /** Name of the Share. Deleting it revokes the link. */
  readonly name: string;
  readonly url: string;
  /** RFC 3339. */
  readonly expiresAt: string;
  /** False: the operator has not processed it yet, and the link shows nothing until then. */
  readonly isAccepted: boolean;
}

/** Where `standin share` creates links: the dashboard of a `standin dev` on this machine, or of a cluster. */
export interface ShareClient {
  /** Rejects with a `PlainError` that explains why there is no link. */
  create(wanted: WantedShare): Promise<MadeShare>;
}
