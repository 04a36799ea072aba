import { createRequire } from 'node:module';
import type { Faker } from '@faker-js/faker';

/**
 * The functions of `@faker-js/faker` that `fake` can call. They need no arguments, return short text, a number or a boolean, and
 * depend only on the seed. Functions that return points in time are missing, because they depend on the clock.
 */
const FUNCTIONS = {
  airline: 'aircraftType flightNumber recordLocator seat',
  animal: 'bear bird cat cow dog fish horse insect lion petName rabbit rodent snake type',
  book: 'author format genre publisher series title',
  color: 'human rgb space',
  commerce: 'department isbn price product productAdjective productDescription productMaterial productName upc',
  company: 'buzzAdjective buzzNoun buzzPhrase buzzVerb catchPhrase name',
  database: 'collation column engine mongodbObjectId type',
  datatype: 'boolean',
  date: 'month weekday',
  finance:
    'accountName accountNumber amount bic bitcoinAddress creditCardCVV creditCardIssuer creditCardNumber currencyCode currencyName ' +
    'currencyNumericCode currencySymbol ethereumAddress iban litecoinAddress pin routingNumber transactionType',
  food: 'adjective description dish ethnicCategory fruit ingredient meat spice vegetable',
  git: 'branch commitMessage commitSha',
  hacker: 'abbreviation adjective ingverb noun phrase verb',
  image: 'avatar url',
  internet:
    'domainName domainSuffix domainWord displayName email emoji exampleEmail httpMethod httpStatusCode ip ipv4 ipv6 mac password port ' +
    'protocol url userAgent username',
  location:
    'buildingNumber cardinalDirection city continent country countryCode county direction latitude longitude ordinalDirection ' +
    'secondaryAddress state street streetAddress timeZone zipCode',
  lorem: 'paragraph sentence sentences slug word words',
  music: 'album artist genre songName',
  number: 'float int',
  person:
    'bio firstName fullName gender jobArea jobDescriptor jobTitle jobType lastName middleName prefix sex suffix zodiacSign',
  phone: 'imei number',
  string: 'alpha alphanumeric hexadecimal nanoid numeric uuid',
  system: 'commonFileExt commonFileName cron directoryPath fileExt fileName filePath mimeType networkInterface semver',
  vehicle: 'bicycle color fuel manufacturer model type vehicle vin vrm',
  word: 'adjective adverb conjunction interjection noun preposition verb words',
} as const satisfies Partial<Record<keyof Faker, string>>;

/** The names that `fake` takes, such as `person.fullName`. */
export const FAKE_NAMES: readonly string[] = Object.entries(FUNCTIONS).flatMap(([module, names]) =>
  names.split(' ').map((name) => `${module}.${name}`),
);

const NAMES: ReadonlySet<string> = new Set(FAKE_NAMES);

export const isFakeName = (name: string): boolean => NAMES.has(name);

/** Returns a phrase with the names that a wrong name probably stands for. */
export const fakeNames = (name: string): string => {
  const module = `${name.split('.')[0] ?? ''}.`;
  const similar = FAKE_NAMES.filter((known) => known.startsWith(module));
  return `use ${similar.length > 0 ? similar.join(', ') : 'for example person.fullName, internet.email or lorem.sentence'}`;
};

let faker: Faker | undefined;

/** Loads the library if it is not loaded. This takes about 25 ms and 10 MB, which most processes do not need. */
const loadFaker = (): Faker => {
  const load: (path: string) => unknown = createRequire(import.meta.url);
  faker ??= (load('@faker-js/faker/locale/en') as { readonly faker: Faker }).faker;
  return faker;
};

/** Returns fake English data, which is always the same for the same seed. */
export const fakeValue = (name: string, seed: number): string | number | boolean => {
  if (!isFakeName(name)) throw new Error(`fake() has no data named ${name}`);
  const library = loadFaker();
  library.seed(seed);
  const [module, method] = name.split('.');
  return library[module as 'person'][method as 'fullName']();
};
