import { createRequire } from 'node:module';
import type { Faker } from '@faker-js/faker';
import type { RandomSequence } from './random-sequence.ts';

/**
 * The functions of `@faker-js/faker` that `fake` can call. They need no arguments, return short text, a number or a boolean, and
 * depend only on random numbers. Functions that return points in time are missing, because they depend on the clock.
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

let source: () => number = () => 0;
let faker: Faker | undefined;

/**
 * Loads the library if it is not loaded. This takes about 25 ms and 10 MB, which most processes do not need. It draws its numbers from
 * `source`, because its own generator has a state of 2.5 kB, which takes 100 µs to seed.
 */
const loadFaker = (): Faker => {
  if (faker !== undefined) return faker;
  const load: (path: string) => unknown = createRequire(import.meta.url);
  const { faker: english } = load('@faker-js/faker/locale/en') as { readonly faker: Faker };
  const Library = english.constructor as typeof Faker;
  const randomizer = { next: () => source(), seed: () => undefined };
  faker = new Library({ locale: english.rawDefinitions, randomizer });
  return faker;
};

/** Returns fake English data, which depends only on the numbers that it draws. */
export const fakeValue = (name: string, random: RandomSequence): string | number | boolean => {
  if (!isFakeName(name)) throw new Error(`fake() has no data named ${name}`);
  const library = loadFaker();
  source = () => random.real();
  const [module = '', method = ''] = name.split('.');
  const call = Reflect.get(Reflect.get(library, module) as object, method) as () => string | number | boolean;
  return call();
};
