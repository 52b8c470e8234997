#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Requests of kubectl to an API server, one line a case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.
#
# usage: kubectl.sh KUBECTL GARDEN_KUBECONFIG SHOOT_KUBECONFIG FOLDER
#
# The garden has Project `demo` with Shoot `local`; the Shoot's cluster has nodes. Works in namespaces of its own, which it removes.
set -u
kubectl=$1 garden=$2 shoot=$3 folder=$4
minor=$("$kubectl" version --client -o json | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p' | head -n 1)
space=compat-kubectl-$minor
mkdir -p "$folder"
cd "$folder" || exit 2
export HOME=$folder

k() { timeout 400 "$kubectl" --cache-dir "$folder/cache" --kubeconfig "$shoot" --namespace "$space" "$@"; }
g() { timeout 400 "$kubectl" --cache-dir "$folder/cache-garden" --kubeconfig "$garden" --namespace garden-demo "$@"; }

# check AREA CASE PATTERN COMMAND…: the command succeeds and its output matches. With PATTERN `!…` it fails.
check() {
  local area=$1 name=$2 pattern=$3 output code
  shift 3
  output=$("$@" 2>&1)
  code=$?
  local expects=0
  if [[ $pattern == !* ]]; then expects=1 pattern=${pattern#!}; fi
  if { [ "$code" -ne 0 ] && [ $expects = 0 ]; } || { [ "$code" -eq 0 ] && [ $expects = 1 ]; }; then
    printf 'failed\t%s\t%s\texit code %s: %s\n' "$area" "$name" "$code" "$(tr '\n\t' '  ' <<<"$output" | cut -c1-300)"
    { echo "# $area, $name"; k get nodes,pods,events -o wide; } >>"$folder/failures" 2>&1
  elif ! grep -Eq -- "$pattern" <<<"$output"; then
    printf 'failed\t%s\t%s\tno match of %s: %s\n' "$area" "$name" "$pattern" "$(tr '\n\t' '  ' <<<"$output" | cut -c1-300)"
  else
    printf 'ok\t%s\t%s\n' "$area" "$name"
  fi
}

# watched TEXT ARGUMENTS…: prints the lines of `kubectl ARGUMENTS… --watch` up to the first that contains TEXT, and ends the watch.
watched() {
  local text=$1 line lines pid
  shift
  exec {lines}< <(exec timeout 400 "$kubectl" --kubeconfig "$shoot" --namespace "$space" "$@" --watch 2>&1)
  pid=$!
  while read -r line <&"$lines"; do
    printf '%s\n' "$line"
    [[ $line == *"$text"* ]] && break
  done
  kill "$pid" 2>/dev/null
  exec {lines}<&-
}

cat >map.yaml <<'Y'
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a1, labels: {app: zz}}, data: {a: "1", b: "2"}}
Y
cat >map2.yaml <<'Y'
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a1, labels: {app: zz}}, data: {a: "3"}}
Y
cat >generated.yaml <<'Y'
---
{apiVersion: v1, kind: ConfigMap, metadata: {generateName: gen-}, data: {a: "1"}}
Y
cat >bad.yaml <<'Y'
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {a: "1"}, bogus: 1}
Y
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: "1"}\ndata: {a: "2"}\n' >twice.yaml
cat >ordinal.yaml <<'Y'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ordinal}
spec:
  serviceName: ordinal
  selector: {matchLabels: {app: ordinal}}
  template:
    metadata: {labels: {app: ordinal}}
    spec: {containers: [{name: c, image: "i:1"}]}
Y
cat >daemon.yaml <<'Y'
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec: {containers: [{name: c, image: "i:1"}]}
Y
cat >deploy.yaml <<'Y'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
Y
cat >crd.yaml <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.k$minor.example.com}
spec:
  group: k$minor.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, shortNames: [th$minor]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1}}}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
Y
cat >thing.yaml <<Y
---
{apiVersion: k$minor.example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: 3}}
Y
sed 's/size: 3/size: 0/' thing.yaml >thing-bad.yaml
for map in c1 c2 c3 c4 c5; do
  echo ---
  echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: $map, labels: {app: x, nr: $map}}, data: {k: $map}}"
done >maps.yaml

area=discovery
check "$area" version 'Server Version' k version
check "$area" api-versions '^apps/v1$' k api-versions
check "$area" api-resources 'configmaps +cm +v1 +true +ConfigMap' k api-resources
check "$area" 'api-resources of Gardener' 'shoots +core.gardener.cloud/v1beta1 +true +Shoot' g api-resources
check "$area" cluster-info 'control plane' k cluster-info
check "$area" 'get --raw' '"groupVersion":"core.gardener.cloud/v1beta1"' g get --raw /apis/core.gardener.cloud/v1beta1
check "$area" 'unknown kind' "!the server doesn't have a resource type \"foos\"" k get foos
check "$area" explain 'FIELDS|KIND: +ConfigMap' k explain configmap
check "$area" 'explain of a field of Gardener' 'purpose' g explain shoot.spec
check "$area" 'explain --recursive' 'containers' k explain pod --recursive
check "$area" 'explain by OpenAPI v2' 'ConfigMap' k explain configmap --output=plaintext-openapiv2

area=create
check "$area" namespace 'created' k create namespace "$space"
check "$area" 'several from a file' 'configmap/c5 created' k create -f maps.yaml
check "$area" 'what exists' '!AlreadyExists' k create -f maps.yaml
check "$area" 'generated name' 'configmap/gen-[a-z0-9]{5} created' k create -f generated.yaml
check "$area" 'dry run by the server' 'server dry run' k create -f generated.yaml --dry-run=server
check "$area" 'dry run by the client' 'dry run' k create -f map.yaml --dry-run=client
check "$area" configmap 'created' k create configmap g1 --from-literal=a=b
check "$area" secret 'created' k create secret generic s1 --from-literal=a=b
check "$area" serviceaccount 'created' k create serviceaccount robot
check "$area" token '^ey' k create token robot
check "$area" role 'created' k create role r --verb=get --resource=pods
check "$area" rolebinding 'created' k create rolebinding rb --role=r --serviceaccount="$space:robot"
check "$area" service 'created' k create service clusterip svc --tcp=80:80
check "$area" deployment 'created' k create deployment d1 --image=nginx
check "$area" job 'created' k create job j1 --image=busybox
check "$area" cronjob 'created' k create cronjob cj1 --image=busybox --schedule='*/5 * * * *'
check "$area" ingress 'created' k create ingress i1 --rule=a.b/x=svc:80
check "$area" poddisruptionbudget 'created' k create poddisruptionbudget p1 --selector=app=web --min-available=1
check "$area" quota 'created' k create quota q1 --hard=configmaps=100
check "$area" 'priorityclass' 'created' k create priorityclass "pc-$minor" --value=5
check "$area" 'Shoot, refused' '!cloudprofile reference' g create -f - <<<$'---\n{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: x}}'

area='field validation'
check "$area" strict '!strict decoding error: unknown field "bogus"' k create -f bad.yaml --validate=strict
check "$area" warn 'Warning: unknown field "bogus"' k create -f bad.yaml --validate=warn --dry-run=server
check "$area" ignore 'created' k create -f bad.yaml --validate=false
check "$area" 'strict, a Shoot' '!unknown field "spec.bogus"' g create -f - <<<$'---\n{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: x}, spec: {bogus: 1}}'

area=read
check "$area" table '^NAME +DATA +AGE' k get configmaps
check "$area" 'table of Shoots' 'CLOUDPROFILE.*LAST OPERATION' g get shoots
check "$area" wide 'CONTAINERS +IMAGES' k get deployments -o wide
check "$area" yaml 'kind: ConfigMap' k get configmap c1 -o yaml
check "$area" json '"kind": "List"' k get configmaps -o json
check "$area" jsonpath '^c1 c2' k get configmaps -l app=x -o 'jsonpath={.items[*].metadata.name}'
check "$area" custom-columns '^c1' k get configmaps -o custom-columns=N:.metadata.name
check "$area" name '^configmap/c1$' k get configmaps -o name
check "$area" 'printed by the client' 'c1' k get configmaps --server-print=false
check "$area" pages 'c5' k get configmaps --chunk-size=2
check "$area" sorted 'c1' k get configmaps --sort-by=.metadata.name
check "$area" 'all namespaces' 'NAMESPACE' k get configmaps -A
check "$area" labels 'nr=c1' k get configmaps --show-labels
check "$area" 'label selector' '^c1 ' k get configmaps -l 'nr in (c1),!z' --no-headers
check "$area" 'bad label selector' '!unable to parse requirement|found' k get configmaps -l 'a in'
check "$area" 'field selector' '^c2 ' k get configmaps --field-selector=metadata.name=c2 --no-headers
check "$area" 'unknown field selector' '!not a known field selector|field label not supported' k get configmaps --field-selector=spec.x=y
check "$area" all 'deployment.apps/d1' k get all
check "$area" 'several kinds' 'secret/s1' k get configmap/c1 secret/s1
check "$area" subresource 'local' g get shoot local --subresource=status
check "$area" scale 'NAME' k get deployment d1 --subresource=scale
check "$area" 'not found' '!configmaps "nope" not found' k get configmap nope
check "$area" --ignore-not-found '^$' k get configmap nope --ignore-not-found
check "$area" 'describe configmap' 'Data' k describe configmap c1
check "$area" 'describe Shoot' 'Events' g describe shoot local
check "$area" 'describe namespace' 'Resource Quotas' k describe namespace "$space"
check "$area" 'describe node' 'Capacity' k describe nodes
check "$area" 'describe deployment' 'Replicas' k describe deployment d1
check "$area" events 'd1' k events --for deployment/d1
check "$area" 'get events' 'ScalingReplicaSet' k get events

area=watch
check "$area" 'get --watch' 'c1' watched c1 get configmaps
check "$area" 'get NAME --watch' 'c1' watched c1 get configmap c1
check "$area" 'wait for a condition' 'condition met' k wait --for=condition=Available deployment/d1 --timeout=300s
check "$area" 'wait for a JSONPath' 'condition met' k wait '--for=jsonpath={.data.k}=c1' configmap/c1 --timeout=300s
check "$area" 'wait, in vain' '!timed out' k wait '--for=jsonpath={.data.k}=zz' configmap/c1 --timeout=1s
if [ "$minor" -ge 31 ]; then check "$area" 'wait for a creation' 'condition met' k wait --for=create configmap/c1 --timeout=300s; fi
check "$area" 'rollout status' 'successfully rolled out' k rollout status deployment/d1 --timeout=300s

area='client-side apply'
check "$area" create 'configmap/a1 created' k apply -f map.yaml
check "$area" 'nothing new' 'configmap/a1 unchanged' k apply -f map.yaml
check "$area" 'dry run' 'configured' k apply -f map2.yaml --dry-run=server
check "$area" diff '!^-  b: "2"' k diff -f map2.yaml
check "$area" 'a field goes' 'configmap/a1 configured' k apply -f map2.yaml
check "$area" 'the field has gone' '^[{]"a":"3"[}]$' k get configmap a1 -o 'jsonpath={.data}'
check "$area" view-last-applied 'a: "3"' k apply view-last-applied configmap a1
check "$area" deployment 'created' k apply -f deploy.yaml
check "$area" 'list merged by key' 'configured' k apply -f - < <(sed 's/nginx:1/nginx:2/' deploy.yaml)
check "$area" prune 'pruned|unchanged|configured' k apply -f map.yaml --prune -l app=zz --prune-allowlist=core/v1/ConfigMap

area='server-side apply'
check "$area" create 'serverside-applied' k apply --server-side -f - <<<$'---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: ssa}, data: {a: "1"}}'
check "$area" conflict '!conflict' k apply --server-side --field-manager=other -f - <<<$'---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: ssa}, data: {a: "2"}}'
check "$area" force 'serverside-applied' k apply --server-side --field-manager=other --force-conflicts -f - <<<$'---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: ssa}, data: {a: "2"}}'
check "$area" 'from client-side apply' 'serverside-applied' k apply --server-side -f map2.yaml
check "$area" diff '^$' k diff --server-side -f map2.yaml
check "$area" managedFields 'manager: other' k get configmap ssa -o yaml --show-managed-fields

area=change
check "$area" 'patch, strategic' 'patched' k patch configmap c2 -p '{"data":{"a":"p"}}'
check "$area" 'patch, merge' 'patched' k patch configmap c2 --type=merge -p '{"data":{"a":"q"}}'
check "$area" 'patch, JSON' 'patched' k patch configmap c2 --type=json -p '[{"op":"replace","path":"/data/a","value":"z"}]'
check "$area" 'patch that fails' '!The request is invalid|the server rejected our request' k patch configmap c2 --type=json -p '[{"op":"remove","path":"/data/zz"}]'
check "$area" 'patch, nothing new' 'no change' k patch configmap c2 --type=merge -p '{}'
check "$area" 'patch, strategic, Shoot' 'patched' g patch shoot local -p '{"metadata":{"labels":{"compat":"y"}}}'
check "$area" 'label' 'labeled' k label configmap c3 k=v
check "$area" 'label, not overwritten' '!already has a value' k label configmap c3 k=v2
check "$area" 'label by selector' 'labeled' k label configmaps -l app=x zz=1
check "$area" annotate 'annotated?' k annotate configmap c3 k=v
check "$area" 'annotate, old version' '!Conflict|conflict|modified' k annotate configmap c3 k=w --overwrite --resource-version=5
check "$area" 'edit' 'edited' env KUBE_EDITOR="sed -i s/k:\ c4/k:\ c44/" "$kubectl" --kubeconfig "$shoot" -n "$space" edit configmap c4 --output-patch
check "$area" 'replace' 'replaced' k replace -f map.yaml
check "$area" 'replace --force' 'replaced' k replace --force -f map.yaml
check "$area" 'set image' 'updated' k set image deployment/web c=nginx:3
check "$area" 'set env' 'updated' k set env deployment/web A=B
check "$area" scale 'scaled' k scale deployment web --replicas=3
check "$area" 'scale with a condition' 'scaled' k scale deployment web --current-replicas=3 --replicas=1
check "$area" autoscale 'autoscaled' k autoscale deployment web --max=3 --cpu-percent=50
check "$area" 'taint' 'tainted' k taint nodes --all "compat-$minor=v:PreferNoSchedule"
check "$area" 'taint, away' 'untainted' k taint nodes --all "compat-$minor-"

area=workload
check "$area" 'rollout restart' 'restarted' k rollout restart deployment/web
check "$area" 'rollout status' 'successfully rolled out' k rollout status deployment/web --timeout=300s
check "$area" 'rollout history' 'REVISION' k rollout history deployment/web
check "$area" 'rollout undo' 'rolled back' k rollout undo deployment/web
check "$area" 'rollout pause' 'paused' k rollout pause deployment/web
check "$area" 'rollout resume' 'resumed' k rollout resume deployment/web
for kind in ordinal=statefulset daemon=daemonset; do
  name=${kind%%=*} kind=${kind##*=}
  k apply -f "$name.yaml" >/dev/null
  check "$area" "rollout status of a $kind" 'complete|rolled out' k rollout status "$kind/$name" --timeout=300s
  k set image "$kind/$name" c=i:2 >/dev/null
  k rollout status "$kind/$name" --timeout=300s >/dev/null
  check "$area" "rollout history of a $kind" '^2 ' k rollout history "$kind/$name"
  check "$area" "a revision of a $kind" 'i:1' k rollout history "$kind/$name" --revision=1
  check "$area" "rollout undo of a $kind" 'rolled back' k rollout undo "$kind/$name"
  check "$area" "the older template of a $kind" 'i:1' k get "$kind/$name" -o 'jsonpath={.spec.template.spec.containers[0].image}'
  k rollout status "$kind/$name" --timeout=300s >/dev/null
  check "$area" "nothing to undo of a $kind" 'skipped rollback' k rollout undo "$kind/$name" --to-revision=3
done
check "$area" cordon 'cordoned' k cordon "$(k get nodes -o 'jsonpath={.items[0].metadata.name}')"
check "$area" uncordon 'uncordoned' k uncordon "$(k get nodes -o 'jsonpath={.items[0].metadata.name}')"
check "$area" 'top, without metrics' '!Metrics API not available' k top nodes
check "$area" 'expose' 'exposed' k expose deployment web --port=80 --name=web2
check "$area" 'run' 'created' k run p1 --image=busybox
check "$area" 'pod ready' 'condition met' k wait --for=condition=Ready pod/p1 --timeout=300s

area=access
check "$area" 'auth can-i' 'yes' k auth can-i get configmaps
check "$area" 'auth can-i, no' '!no' k auth can-i get configmaps --as=nobody
check "$area" 'auth can-i --list' 'Resources' k auth can-i --list
check "$area" 'auth whoami' 'Username' k auth whoami
check "$area" 'auth reconcile' 'reconciled' k auth reconcile -f - < <(printf -- '---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: rr, namespace: %s}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}' "$space")
check "$area" 'as somebody else' '!User "bob" cannot list resource "configmaps"' k get configmaps --as=bob --as-group=g1
check "$area" 'a token' 'yes|no' k auth can-i get pods --token "$(k create token robot)"

area='own kinds'
check "$area" 'definition' 'created' k apply -f crd.yaml
check "$area" 'established' 'condition met' k wait --for=condition=Established "crd/things.k$minor.example.com" --timeout=300s
check "$area" 'object' 'created' k apply -f thing.yaml
check "$area" 'refused by the schema' '!should be greater than or equal to 1' k apply -f thing-bad.yaml
check "$area" 'columns' '^t +3$' k get "th$minor" --no-headers
check "$area" 'strategic merge patch' '!is not supported' k patch "things.k$minor.example.com" t -p '{"spec":{"size":4}}'
check "$area" 'explain' 'size' k explain things.spec --api-version="k$minor.example.com/v1"
check "$area" 'definition goes' 'deleted' k delete -f crd.yaml

area=delete
check "$area" 'dry run' 'server dry run' k delete configmap c1 --dry-run=server
check "$area" 'one' 'deleted' k delete configmap c1
check "$area" 'not found' '!not found' k delete configmap c1
check "$area" 'foreground' 'deleted' k delete deployment d1 --cascade=foreground
check "$area" 'orphan' 'deleted' k delete deployment web --cascade=orphan
check "$area" 'orphans stay' 'replicaset' k get replicasets -l app=web -o name
check "$area" 'at once' 'deleted' k delete pod p1 --grace-period=0 --force
check "$area" 'by selector' 'deleted' k delete configmaps -l app=x
check "$area" 'all' 'deleted' k delete secrets --all
check "$area" 'wait for deletion' '^$|condition met' k wait --for=delete configmap/c2 --timeout=300s
check "$area" 'raw' '"status":"Success"' k delete --raw "/api/v1/namespaces/$space/configmaps/a1"
check "$area" 'namespace' 'deleted' k delete namespace "$space" --timeout=300s
k delete priorityclass "pc-$minor" >/dev/null 2>&1
exit 0
