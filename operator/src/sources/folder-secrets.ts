import type { LabelledSecret, ResourceObject, Secrets } from '@standin/contract';
import type { FolderObjects } from './folder-objects.ts';
import { labelledManifest } from './labelled-secret.ts';
import { foreignSecret, secretConflict, type SecretFiles } from './secret-files.ts';

const ownerIn = ({ kind, metadata: { name, uid } }: ResourceObject) => ({ kind, name, uid });

/** The Secrets of a directory: those in manifests, and the generated ones in the data folder. */
export class FolderSecrets implements Secrets {
  readonly #manifests: Pick<FolderObjects, 'secret'>;
  readonly #files: SecretFiles;

  constructor(manifests: Pick<FolderObjects, 'secret'>, files: SecretFiles) {
    this.#manifests = manifests;
    this.#files = files;
  }

  async read(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    const manifest = await this.#manifests.secret(namespace, name);
    return manifest === undefined ? this.#files.read(namespace, name, dataKey) : manifest.data.get(dataKey);
  }

  async readLabelled(namespace: string, name: string): Promise<LabelledSecret | undefined> {
    const manifest = await this.#manifests.secret(namespace, name);
    return manifest && labelledManifest(manifest);
  }

  async create(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const { namespace } = owner.metadata;
    if ((await this.#manifests.secret(namespace, name)) !== undefined) throw secretConflict(namespace, name);
    await this.#files.create(namespace, name, { owner: ownerIn(owner), data });
  }

  async replace(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void> {
    const { namespace } = owner.metadata;
    if ((await this.#manifests.secret(namespace, name)) !== undefined) throw foreignSecret(namespace, name);
    await this.#files.replace(namespace, name, { owner: ownerIn(owner), data, mark });
  }
}
