// SPDX-License-Identifier: Apache-2.0
// Requests of the JavaScript client `@kubernetes/client-node` to an API server.
//
// usage: node client_node.mjs FOLDER_OF_NODE_MODULES GARDEN_KUBECONFIG SHOOT_KUBECONFIG
//
// Prints a line for each case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.

import { createRequire } from 'node:module';
import assert from 'node:assert/strict';

const [folder, gardenFile, shootFile] = process.argv.slice(2);
const k8s = createRequire(`${folder}/package.json`)('@kubernetes/client-node');

const connect = (file) => {
  const config = new k8s.KubeConfig();
  config.loadFromFile(file);
  return config;
};
const [garden, shoot] = [connect(gardenFile), connect(shootFile)];
const core = shoot.makeApiClient(k8s.CoreV1Api);
const apps = shoot.makeApiClient(k8s.AppsV1Api);
const custom = garden.makeApiClient(k8s.CustomObjectsApi);
const namespace = 'compat-node';

const refused = async (code, call) => {
  try {
    await call();
  } catch (error) {
    assert.equal(error.code ?? error.statusCode, code, `${error.code}: ${error.body ?? error}`);
    return String(error.body);
  }
  throw new Error(`was not refused with ${code}`);
};
const map = (name, data = {}) => ({ metadata: { name, labels: { app: 'x' } }, data });
const merge = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch);
const until = async (condition, what) => {
  for (let round = 0; round < 200; round += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`in vain: ${what}`);
};

const cases = [
  ['discovery', 'version', async () => {
    const info = await shoot.makeApiClient(k8s.VersionApi).getCode();
    assert.match(info.gitVersion, /^v1\./);
  }],
  ['discovery', 'groups', async () => {
    const groups = await garden.makeApiClient(k8s.ApisApi).getAPIVersions();
    assert(groups.groups.some((group) => group.name === 'core.gardener.cloud'));
  }],
  ['create', 'namespace, config maps, secret', async () => {
    await core.createNamespace({ body: { metadata: { name: namespace } } });
    for (let number = 0; number < 5; number += 1) {
      await core.createNamespacedConfigMap({ namespace, body: map(`c${number}`, { k: 'v' }) });
    }
    const secret = await core.createNamespacedSecret({ namespace, body: { metadata: { name: 's' }, stringData: { a: 'b' } } });
    assert.deepEqual(secret.data, { a: 'Yg==' });
  }],
  ['create', 'what exists', async () => {
    const body = await refused(409, () => core.createNamespacedConfigMap({ namespace, body: map('c1') }));
    assert.match(body, /AlreadyExists/);
  }],
  ['create', 'dry run, generated name', async () => {
    const body = { metadata: { generateName: 'gen-' } };
    const made = await core.createNamespacedConfigMap({ namespace, body, dryRun: 'All' });
    assert.match(made.metadata.name, /^gen-/);
  }],
  ['create', 'by KubernetesObjectApi', async () => {
    const client = k8s.KubernetesObjectApi.makeApiClient(garden);
    const header = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'node', namespace: 'garden-demo' } };
    await client.create({ ...header, data: { a: '1' } });
    const patched = await client.patch({ ...header, data: { b: '2' } });
    assert.deepEqual(patched.data, { a: '1', b: '2' });
    const found = await client.read({ apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata: { name: 'local', namespace: 'garden-demo' } });
    assert.equal(found.spec.region, 'local');
    await client.delete(header);
  }],
  ['field validation', 'strict', async () => {
    const place = { group: 'core.gardener.cloud', version: 'v1beta1', namespace: 'garden-demo', plural: 'shoots' };
    const body = { apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata: { name: 'x' }, spec: { bogus: 1 } };
    const text = await refused(400, () => custom.createNamespacedCustomObject({ ...place, body, fieldValidation: 'Strict' }));
    assert.match(text, /unknown field/);
  }],
  ['read', 'lists, pages, selectors', async () => {
    const first = await core.listNamespacedConfigMap({ namespace, limit: 2 });
    assert.equal(first.items.length, 2);
    const second = await core.listNamespacedConfigMap({ namespace, limit: 2, _continue: first.metadata._continue });
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    const some = await core.listNamespacedConfigMap({ namespace, labelSelector: 'app in (x),!z', fieldSelector: 'metadata.name=c1' });
    assert.deepEqual(some.items.map((item) => item.metadata.name), ['c1']);
    await refused(400, () => core.listNamespacedConfigMap({ namespace, labelSelector: 'a in' }));
  }],
  ['read', 'not found', async () => {
    assert.match(await refused(404, () => core.readNamespacedConfigMap({ namespace, name: 'nope' })), /NotFound/);
  }],
  ['watch', 'changes from a version on', async () => {
    const start = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
    const types = [];
    const request = await new k8s.Watch(shoot).watch(
      `/api/v1/namespaces/${namespace}/configmaps`, { resourceVersion: start }, (type) => types.push(type), () => {});
    await core.createNamespacedConfigMap({ namespace, body: map('w') });
    await core.patchNamespacedConfigMap({ namespace, name: 'w', body: { data: { a: '1' } } }, merge);
    await core.deleteNamespacedConfigMap({ namespace, name: 'w' });
    await until(() => types.length === 3, 'three events');
    request.abort();
    assert.deepEqual(types, ['ADDED', 'MODIFIED', 'DELETED']);
  }],
  ['watch', 'informer', async () => {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const informer = k8s.makeInformer(shoot, path, () => core.listNamespacedConfigMap({ namespace }));
    const [added, deleted] = [[], []];
    informer.on('add', (one) => added.push(one.metadata.name));
    informer.on('delete', (one) => deleted.push(one.metadata.name));
    await informer.start();
    await core.createNamespacedConfigMap({ namespace, body: map('i') });
    await until(() => added.includes('i') && added.includes('c1'), 'added');
    await core.deleteNamespacedConfigMap({ namespace, name: 'i' });
    await until(() => deleted.includes('i'), 'deleted');
    await informer.stop();
  }],
  ['change', 'replace, conflict', async () => {
    const one = await core.readNamespacedConfigMap({ namespace, name: 'c1' });
    await core.replaceNamespacedConfigMap({ namespace, name: 'c1', body: { ...one, data: { k: 'new' } } });
    assert.match(await refused(409, () => core.replaceNamespacedConfigMap({ namespace, name: 'c1', body: one })), /Conflict/);
  }],
  ['change', 'patches', async () => {
    const operations = [{ op: 'replace', path: '/data/k', value: 'z' }];
    const patched = await core.patchNamespacedConfigMap({ namespace, name: 'c2', body: operations });
    assert.deepEqual(patched.data, { k: 'z' });
    const place = { group: 'core.gardener.cloud', version: 'v1beta1', namespace: 'garden-demo', plural: 'shoots', name: 'local' };
    const shown = await custom.patchNamespacedCustomObject({ ...place, body: { metadata: { labels: { node: 'y' } } } }, merge);
    assert.equal(shown.metadata.labels.node, 'y');
  }],
  ['server-side apply', 'apply, conflict', async () => {
    const client = k8s.KubernetesObjectApi.makeApiClient(shoot);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ssa', namespace }, data: { a: '1' } };
    const type = k8s.PatchStrategy.ServerSideApply;
    await client.patch(body, undefined, undefined, 'one', undefined, type);
    const other = { ...body, data: { a: '2' } };
    await refused(409, () => client.patch(other, undefined, undefined, 'two', undefined, type));
    assert.equal((await client.patch(other, undefined, undefined, 'two', true, type)).data.a, '2');
  }],
  ['workload', 'deployment, scale, status', async () => {
    const template = { metadata: { labels: { a: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'd' }, spec: { replicas: 1, selector: { matchLabels: { a: 'd' } }, template } };
    await apps.createNamespacedDeployment({ namespace, body });
    await apps.patchNamespacedDeploymentScale({ namespace, name: 'd', body: { spec: { replicas: 2 } } }, merge);
    const ready = async () => (await apps.readNamespacedDeploymentStatus({ namespace, name: 'd' })).status?.readyReplicas === 2;
    await until(ready, 'two replicas');
  }],
  ['access', 'review, token', async () => {
    const access = shoot.makeApiClient(k8s.AuthorizationV1Api);
    const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace } };
    assert((await access.createSelfSubjectAccessReview({ body: { spec } })).status.allowed);
    const body = { spec: { audiences: [] } };
    assert((await core.createNamespacedServiceAccountToken({ namespace, name: 'default', body })).status.token);
  }],
  ['delete', 'preconditions, collection, namespace', async () => {
    const body = { preconditions: { uid: 'other' } };
    await refused(409, () => core.deleteNamespacedConfigMap({ namespace, name: 'c1', body }));
    await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'app=x' });
    assert.equal((await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=x' })).items.length, 0);
    await core.deleteNamespace({ name: namespace });
  }],
];

for (const [area, name, run] of cases) {
  try {
    await run();
    console.log(['ok', area, name].join('\t'));
  } catch (error) {
    const reason = String(error.message ?? error).replace(/[\n\t]+/g, ' ').slice(0, 300);
    console.log(['failed', area, name, reason].join('\t'));
  }
}
process.exit(0);
