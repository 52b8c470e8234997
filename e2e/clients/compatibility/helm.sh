#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Requests of Helm to an API server, one line a case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.
#
# usage: helm.sh HELM SHOOT_KUBECONFIG FOLDER
#
# The cluster has nodes. The chart is the output of `helm create`.
set -u
helm=$1 shoot=$2 folder=$3
mkdir -p "$folder"
cd "$folder" || exit 2
export HOME=$folder HELM_CACHE_HOME=$folder/cache HELM_CONFIG_HOME=$folder/config HELM_DATA_HOME=$folder/data
space=compat-$("$helm" version --short | sed 's/^v\([0-9]*\).*/helm\1/')
rm -rf chart
"$helm" create chart >/dev/null || exit 2

# check AREA CASE PATTERN WORD…: Helm succeeds and its output matches.
check() {
  local area=$1 name=$2 pattern=$3 output code
  shift 3
  output=$(timeout 400 "$helm" --kubeconfig "$shoot" --namespace "$space" "$@" 2>&1)
  code=$?
  if [ "$code" -ne 0 ] || ! grep -Eq -- "$pattern" <<<"$output"; then
    printf 'failed\t%s\t%s\texit code %s: %s\n' "$area" "$name" "$code" "$(tr '\n\t' '  ' <<<"$output" | cut -c1-300)"
  else
    printf 'ok\t%s\t%s\n' "$area" "$name"
  fi
}

check release 'install --wait' 'STATUS: deployed' install rel chart --create-namespace --wait --timeout 300s
check read list 'rel' list
check read status 'STATUS: deployed' status rel
check read 'get manifest' 'kind: Deployment' get manifest rel
check release 'upgrade --wait' 'REVISION: 2' upgrade rel chart --set replicaCount=2 --wait --timeout 300s
check read history 'superseded' history rel
check release 'rollback --wait' 'Rollback was a success' rollback rel 1 --wait --timeout 300s
check release 'upgrade --install' 'STATUS: deployed' upgrade --install rel2 chart --wait --timeout 300s
check release 'upgrade --atomic' 'STATUS: deployed' upgrade rel2 chart --atomic --timeout 300s
check delete 'uninstall --wait' 'uninstalled' uninstall rel --wait --timeout 300s
check delete 'uninstall' 'uninstalled' uninstall rel2
exit 0
